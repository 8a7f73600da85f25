import { type Command, InvalidArgumentError } from 'commander';
import { stringify } from 'yaml';
import { printable, printableLines } from '../../printable.js';
import { type Call, clientCommand, does, type Shell } from '../../shell.js';
import { timeText } from '../../summary.js';
import { unlessForbidden } from '../../unless-forbidden.js';
import { addList as addListOf, addRemove as addRemoveOf, tellItem } from '../resource.js';
import type { Runbook, RunbookDetail, RunbookVersion } from './api.js';

export function addList(runbook: Command, shell: Shell): void {
  addListOf<Runbook>(runbook, shell, {
    summary: 'runbooks that you may look at or run',
    examples: ['muster runbook list', 'muster runbook list --json'],
    read: ({ client }) => client.get(client.inOrg('runbooks')),
    columns: {
      Runbook: ({ name }) => name,
      Version: ({ version }) => version,
      'You may run it': ({ runnable }) => (runnable ? 'yes' : 'no'),
      Author: ({ author }) => author,
      Changed: ({ updated_at }) => timeText(updated_at),
      What: ({ description }) => description,
    },
    look: { fit: true },
    none: 'no runbooks that you may look at or run; to make one: muster runbook create NAME -f FILE',
  });
}

export function addShow(runbook: Command, shell: Shell): void {
  const command = clientCommand(runbook, {
    usage: 'show <runbook>',
    summary: 'a runbook with its parameters',
    examples: [
      'muster runbook show restart-web',
      'muster runbook show restart-web --version 3 --json',
      'muster runbook show restart-web --definition > restart-web.yaml',
    ],
  });
  withVersion(command).option('--definition', 'its definition alone, as create and update take it');
  does<ShowFlags>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const { version, definition } = call.options;
    const shown = await call.client.get<RunbookDetail>(call.client.inOrg('runbooks', name), { version });
    if (definition === true) tellItem(call, unsigned(shown), tellDefinition);
    else tellItem(call, shown, tell);
  });
}

interface ShowFlags {
  readonly version?: number;
  readonly definition?: boolean;
}

/** Whoever hands it in again signs its script. */
function unsigned({ definition: { signature: _, ...unsigned } }: RunbookDetail): RunbookDetail['definition'] {
  return unsigned;
}

/** Exactly what it is, in YAML; where a terminal would not show all of that, in the JSON that YAML reads, too. */
function tellDefinition({ out }: Call<object>, definition: RunbookDetail['definition']): void {
  const yaml = stringify(definition);
  out.line((printableLines(yaml) === yaml ? yaml : asciiOf(definition)).replace(/\n$/, ''));
}

function asciiOf(value: object): string {
  const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(value, null, 2).replace(/[^\n -~]/g, escaped);
}

/** Of the newest version unless another is named. */
export function withVersion(command: Command): Command {
  return command.option('--version <n>', 'this version instead of the newest', (text) => {
    if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
    throw new InvalidArgumentError('A version is a number from 1 on.');
  });
}

function tell({ out }: Call<object>, shown: RunbookDetail): void {
  const { name, version, author, updated_at, definition } = shown;
  out.fields([
    ['Runbook', name],
    ['Version', String(version)],
    ['Author', author],
    ['Changed', timeText(updated_at)],
  ]);
  out.line();
  if (definition.signature !== undefined) out.line('# its script is signed');
  out.line(printableLines(stringify(unsigned(shown)).trimEnd()));
}

export function addVersions(runbook: Command, shell: Shell): void {
  const command = clientCommand(runbook, {
    usage: 'versions <runbook>',
    summary: 'versions of a runbook, the newest first',
    examples: ['muster runbook versions restart-web'],
  });
  does<object>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const versions = await call.client.get<readonly RunbookVersion[]>(call.client.inOrg('runbooks', name, 'versions'));
    call.out.document(versions);
    const rows = versions.map(({ version, author, created_at }) => [version, author, timeText(created_at)]);
    call.out.table(['Version', 'Author', 'Made'], rows);
  });
}

/** Who may not see rules is told of none. */
async function rulesThatStart({ client }: Call<object>, name = ''): Promise<string | null> {
  const rules = (await unlessForbidden(client.get<readonly StartingRule[]>(client.inOrg('rules')))) ?? [];
  const names = rules.filter(({ runbook }) => runbook?.name === name).map((rule) => printable(rule.name));
  if (names.length === 0) return null;
  const starting =
    names.length === 1 ? `rule ${names[0]} starts it, and fails` : `rules ${names.join(', ')} start it, and fail`;
  return `${starting} from now on: muster rule set RULE --run OTHER, or muster rule rm RULE`;
}

interface StartingRule {
  readonly name: string;
  readonly runbook: { readonly name: string } | null;
}

export function addRemove(runbook: Command, shell: Shell): void {
  addRemoveOf(runbook, shell, {
    usage: 'rm <runbook>',
    summary: 'delete a runbook with its versions; what it has started goes on',
    examples: ['muster runbook rm restart-web', 'muster runbook rm restart-web --yes'],
    path: ({ client }, name = '') => client.inOrg('runbooks', name),
    done: (name = '') => ({
      document: { name, deleted: true },
      line: `deleted runbook ${printable(name)}`,
    }),
    question: (name = '') => `Delete runbook ${printable(name)}?`,
    consequence: rulesThatStart,
  });
}
