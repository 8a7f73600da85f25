import type { Command } from 'commander';
import { clientCommand, does, type Shell } from '../shell.js';
import { timeText } from '../summary.js';

interface AuditEntry {
  readonly id: number;
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly outcome: 'done' | 'denied';
}

interface AuditOptions {
  readonly actor?: string;
  readonly action?: string;
  readonly after?: string;
  readonly before?: string;
  readonly limit: number;
}

export function addAudit(program: Command, shell: Shell): void {
  const command = clientCommand(program, {
    usage: 'audit',
    summary: 'who did what: changes of identity, jobs started and aborted, denials',
    examples: ['muster audit', 'muster audit --actor alice --action push.start --limit 500', 'muster audit --json'],
  });
  command
    .option('--actor <name>', 'only what this user, node or service did')
    .option('--action <name>', 'only this action, e.g. push.start')
    .option('--after <id>', 'entries after this one, oldest first')
    .option('--before <id>', 'entries before this one, newest first')
    .option('--limit <n>', 'at most this many', Number, 100);
  does<AuditOptions>(command, shell, async (call) => {
    const { actor, action, after, before, limit } = call.options;
    const query = { actor, action, after, before, limit };
    const entries = await call.client.get<AuditEntry[]>(call.client.inOrg('audit'), query);
    call.out.document(entries);
    call.out.table(
      ['Id', 'Time', 'Actor', 'Action', 'Target', 'Outcome'],
      entries.map((one) => [one.id, timeText(one.at), one.actor, one.action, one.target, one.outcome]),
      5,
    );
  });
}
