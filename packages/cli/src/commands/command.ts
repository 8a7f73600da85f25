import type { Command } from 'commander';
import { clientCommand, does, type Shell, subcommand } from '../shell.js';
import { count } from './queue/settings.js';
import { tellTable } from './resource.js';
import { warnOfUnquoted } from './unquoted.js';

interface CountedCommand {
  readonly name: string;
  readonly pattern: string | null;
  readonly nodes: number;
}

/** `GET …/pushy/commands`. */
export interface CommandCounts {
  readonly commands: readonly CountedCommand[];
  readonly more: number;
  readonly nodes: number;
  readonly told: number;
  readonly any: number;
}

interface ListFlags {
  readonly search?: string;
  readonly limit: number;
}

const SHOWN = 1000;

const WHY_SILENT = 'not connected yet, or tell_commands in agent.yaml or in the policy of an ssh node';

/** What nodes allow push jobs. */
export function addCommandList(program: Command, shell: Shell): void {
  const parent = subcommand(program, {
    usage: 'command',
    summary: 'what nodes allow to be run',
    examples: ['muster command list', 'muster command list role:web --search deploy'],
  });
  const command = clientCommand(parent, {
    usage: 'list [query]',
    summary: 'commands that nodes, or those that a query selects, say they allow, and how many nodes each',
    examples: [
      'muster command list',
      'muster command list --search chef',
      "muster command list 'role:web AND env:prod'",
      'muster command list --json',
    ],
  });
  command
    .option('--search <text>', 'only those with this in their name or pattern')
    .option('--limit <n>', 'at most this many', count('--limit', 1), SHOWN);
  does<ListFlags>(command, shell, async (call) => {
    const { client, options, args, out } = call;
    const [q] = args;
    if (q !== undefined) await warnOfUnquoted(call, q);
    const { search, limit } = options;
    const found = await client.get<CommandCounts>(client.inOrg('pushy', 'commands'), { q, search, limit });
    out.document(found);
    const patternOf = ({ name, pattern }: CountedCommand) => (name === `/${pattern}/` ? null : pattern);
    const patterns = found.commands.some((each) => patternOf(each) !== null);
    tellTable(call, found.commands, {
      Command: ({ name }) => name,
      Nodes: ({ nodes }) => nodes,
      ...(patterns && { Pattern: patternOf }),
    });
    const silent = found.nodes - found.told;
    if (found.nodes === 0) out.note(q === undefined ? 'there are no nodes yet' : `no node is like ${q}`);
    else if (found.told > 0) out.note(toldText(found));
    if (found.any > 0) out.note(`${found.any} of them run whatever is asked for (allow_any)`);
    if (silent > 0) out.note(`${silentText(silent, found.nodes)} (${WHY_SILENT}): a job there shows what is taken`);
    if (found.more > 0) out.note(`… and ${found.more} commands more: --limit ${found.more + found.commands.length}`);
  });
}

function toldText({ nodes, told }: CommandCounts): string {
  if (nodes === 1) return 'the one node tells what it allows';
  if (told === nodes) return `all ${nodes} nodes tell what they allow`;
  return `of ${nodes} nodes ${told} ${told === 1 ? 'tells what it allows' : 'tell what they allow'}`;
}

function silentText(silent: number, nodes: number): string {
  if (nodes === 1) return 'the one node does not tell what it allows';
  if (silent === nodes) return `none of ${nodes} nodes tells what it allows`;
  return `${silent} ${silent === 1 ? 'does' : 'do'} not tell`;
}
