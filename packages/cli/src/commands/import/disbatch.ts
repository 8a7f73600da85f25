import { resolve } from 'node:path';
import { EXIT } from '@muster/base';
import type { Command } from 'commander';
import { type Call, clientCommand, does, type Shell } from '../../shell.js';
import { inBatches } from './batches.js';
import { type BadLine, COLLECTIONS, type Collection, type DumpFile, filesOf, recordsOf } from './dump.js';

/** Errors that are told one by one. */
const TOLD = 100;

interface Answer {
  readonly imported: Readonly<Partial<Record<Collection, number>>>;
  readonly present: Readonly<Partial<Record<Collection, number>>>;
  readonly errors: readonly BadLine[];
}

interface Summary {
  imported: number;
  present: number;
  refused: number;
}

export function addDisbatch(parent: Command, shell: Shell): void {
  const command = clientCommand(parent, {
    usage: 'disbatch <dump>',
    summary:
      'a directory with files of mongoexport: queues, nodes, balance, tasks, tasks.files, tasks.chunks; what is there already is left as it is',
    examples: ['muster import disbatch ./dump', 'muster import disbatch ./dump --json'],
  });
  does<object>(command, shell, (call) => importDump(call));
}

async function importDump(call: Call<object>): Promise<number> {
  const [directory = '.'] = call.args;
  const files = filesOf(resolve(call.world.cwd, directory));
  const summaries = new Map<Collection, Summary>();
  const errors: BadLine[] = [];
  let refused = 0;
  const summary = (collection: Collection): Summary => {
    const found = summaries.get(collection) ?? { imported: 0, present: 0, refused: 0 };
    summaries.set(collection, found);
    return found;
  };
  const refuse = (bad: BadLine): void => {
    refused += 1;
    summary(bad.collection).refused += 1;
    if (errors.length < TOLD) errors.push(bad);
  };
  const take = ({ imported, present, errors: bad }: Answer): void => {
    for (const name of COLLECTIONS) {
      if (imported[name] === undefined && present[name] === undefined) continue;
      summary(name).imported += imported[name] ?? 0;
      summary(name).present += present[name] ?? 0;
    }
    for (const one of bad) refuse(one);
  };
  for (const file of files) {
    await send(call, file, refuse, take);
    const { imported, present } = summary(file.collection);
    call.out.note(`${file.collection}: ${imported} imported, ${present} there already`);
  }
  call.out.document({ collections: Object.fromEntries(summaries), errors });
  for (const { collection, line, error } of errors) call.out.note(`${collection}, line ${line}: ${error}`);
  if (refused > errors.length) call.out.note(`and ${refused - errors.length} more`);
  if (!call.out.json) tell(call, summaries);
  return refused === 0 ? EXIT.ok : EXIT.failed;
}

async function send(
  call: Call<object>,
  file: DumpFile,
  refuse: (bad: BadLine) => void,
  take: (answer: Answer) => void,
): Promise<void> {
  const { client } = call;
  const path = client.inOrg('disbatch-import');
  await inBatches(linesOf(file, refuse), async (lines) => {
    const text = { type: 'application/x-ndjson', content: lines.map((line) => line.text).join('\n') };
    take((await client.json('POST', path, { text })) as Answer);
  });
}

async function* linesOf(file: DumpFile, refuse: (bad: BadLine) => void) {
  for await (const record of recordsOf(file, refuse)) yield { text: JSON.stringify(record) };
}

function tell(call: Call<object>, summaries: ReadonlyMap<Collection, Summary>): void {
  const rows = [...summaries].map(([name, { imported, present, refused }]) => [
    name,
    String(imported),
    String(present),
    String(refused),
  ]);
  call.out.table(['Collection', 'Imported', 'There already', 'Refused'], rows);
  if ((summaries.get('queues')?.imported ?? 0) > 0) {
    call.out.note('the queues are paused: muster queue resume NAME lets one run');
  }
}
