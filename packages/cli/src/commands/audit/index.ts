import { type Command, Option } from 'commander';
import { pathOf } from '../../client.js';
import { shortened } from '../../printable.js';
import { clientCommand, does, type Shell } from '../../shell.js';
import { timeText } from '../../summary.js';
import { addExport } from './export.js';
import { readOptionsBefore } from './options-before.js';
import { addVerify } from './verify.js';

const KINDS = ['user', 'node', 'service', 'server', 'claimed'] as const;

interface AuditEntry {
  readonly id: number;
  readonly at: string;
  readonly actor: string;
  /** `claimed`: nobody proved to be that. */
  readonly actor_kind: (typeof KINDS)[number];
  /** Where the request came from; null: from the server itself, or it is not known. */
  readonly address: string | null;
  readonly action: string;
  readonly target: string;
  readonly outcome: 'denied' | 'done' | 'failed' | 'forged';
  /** What more is told of it, such as the command of a job. */
  readonly detail: Readonly<Record<string, string | number | boolean | null>>;
}

const DETAIL_CHARACTERS = 80;
/** On a terminal with less, addresses would leave no room for what was done. */
const ADDRESS_COLUMNS = 120;

interface AuditOptions {
  readonly actor?: string;
  readonly actorKind?: string;
  readonly action?: string;
  readonly after?: string;
  readonly before?: string;
  readonly limit: number;
  readonly ofServer?: boolean;
}

export function addAudit(program: Command, shell: Shell): void {
  const command = clientCommand(program, {
    usage: 'audit',
    summary: 'who did what: changes of identity, jobs started (with their command) and aborted, denials',
    examples: [
      'muster audit',
      'muster audit --actor alice --action push.start --limit 500',
      'muster audit --actor web1 --actor-kind node',
      'muster audit --of-server --action cluster.lead',
      'muster audit --json',
      'muster audit verify',
    ],
  });
  command
    .option('--actor <name>', 'only what this user, node or service did')
    .addOption(
      new Option('--actor-kind <kind>', 'only what such a one did; claimed: nobody proved to be that').choices(KINDS),
    )
    .option('--action <name>', 'only this action, e.g. push.start')
    .option('--after <id>', 'entries after this one, oldest first')
    .option('--before <id>', 'entries before this one, newest first')
    .option('--limit <n>', 'at most this many', Number, 100)
    .option('--of-server', 'what concerns the whole server, and no one organization (server administrators)');
  addExport(command, shell);
  addVerify(command, shell);
  readOptionsBefore(command);
  does<AuditOptions>(command, shell, async (call) => {
    const { actor, actorKind, action, after, before, limit, ofServer } = call.options;
    const query = { actor, actor_kind: actorKind, action, after, before, limit };
    const path = ofServer === true ? pathOf('audit') : call.client.inOrg('audit');
    const entries = await call.client.get<AuditEntry[]>(path, query);
    call.out.document(entries);
    const from = call.out.columns >= ADDRESS_COLUMNS;
    call.out.table(
      ['Id', 'Time', 'Actor', 'Kind', ...(from ? ['From'] : []), 'Action', 'Target', 'Outcome', 'Detail'],
      entries.map((one) => [
        one.id,
        timeText(one.at),
        one.actor,
        one.actor_kind,
        ...(from ? [one.address] : []),
        one.action,
        one.target,
        one.outcome,
        shortened(detailText(one.detail), DETAIL_CHARACTERS),
      ]),
      from ? 7 : 6,
      { fit: true },
    );
    const narrowed = [actor, actorKind, action, after, before].some((one) => one !== undefined);
    if (entries.length === 0) call.out.note(narrowed ? 'no entry is like that' : 'nothing was done yet');
  });
}

/** The command of a job as it is; of everything else each name with its value. */
function detailText(detail: AuditEntry['detail']): string {
  if (typeof detail.command === 'string') return detail.command;
  return Object.entries(detail)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}
