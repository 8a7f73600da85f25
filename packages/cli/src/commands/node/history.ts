import type { Command } from 'commander';
import { clientCommand, does, type Shell } from '../../shell.js';
import { timeText } from '../../summary.js';
import { tellTable } from '../resource.js';

type Value = string | number | boolean | null;

/** `GET …/nodes/NODE/history`. */
interface Entry {
  readonly position: number;
  readonly at: string;
  readonly changes: readonly { readonly name: string; readonly of: string; readonly from: Value; readonly to: Value }[];
  readonly omitted: number;
}

const PAGE = 1000;

export function addHistory(node: Command, shell: Shell): void {
  const command = clientCommand(node, {
    usage: 'history <name>',
    summary: 'what changed of the facts and labels of a node, and when, as long as events are kept',
    examples: ['muster node history web1', 'muster node history web1 --json'],
  });
  does<object>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const path = call.client.inOrg('nodes', name, 'history');
    const entries: Entry[] = [];
    for (let after = 0; ; ) {
      const page = await call.client.get<Entry[]>(path, { after, limit: PAGE });
      entries.push(...page);
      after = page.at(-1)?.position ?? 0;
      if (page.length < PAGE) break;
    }
    call.out.document(entries);
    const rows = entries.flatMap(({ at, changes }) => changes.map((change) => ({ at, ...change })));
    tellTable(
      call,
      rows,
      {
        When: ({ at }) => timeText(at),
        Name: (change) => change.name,
        Of: (change) => change.of,
        From: ({ from }) => (from === null ? null : String(from)),
        To: ({ to }) => (to === null ? null : String(to)),
      },
      undefined,
      { fit: true },
    );
    const omitted = entries.reduce((sum, entry) => sum + entry.omitted, 0);
    if (rows.length === 0) call.out.note('nothing changed since events are kept');
    if (omitted > 0) call.out.note(`… and ${omitted} changes more, which were too many at once`);
  });
}
