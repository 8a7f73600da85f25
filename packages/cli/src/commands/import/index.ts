import { resolve } from 'node:path';
import { EXIT } from '@muster/base';
import type { Command } from 'commander';
import { type Call, clientCommand, does, type Shell, subcommand } from '../../shell.js';
import { type BadLine, COLLECTIONS, type Collection, type DumpFile, filesOf, recordsOf } from './dump.js';

export function addImport(program: Command, shell: Shell): void {
  const command = subcommand(program, {
    usage: 'import',
    summary: 'take over what another system has',
    examples: ['muster import disbatch ./dump'],
  });
  addDisbatch(command, shell);
}

/** Documents of one request, and their bytes: below what a server takes unless it is told otherwise. */
const DOCUMENTS = 500;
const BYTES = 600_000;
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

function addDisbatch(parent: Command, shell: Shell): void {
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

/** The next documents are read while the last ones are on their way. */
async function send(
  call: Call<object>,
  file: DumpFile,
  refuse: (bad: BadLine) => void,
  take: (answer: Answer) => void,
): Promise<void> {
  const { client } = call;
  const path = client.inOrg('disbatch-import');
  let sending: Promise<void> = Promise.resolve();
  let lines: string[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    await sending;
    if (lines.length === 0) return;
    const text = { type: 'application/x-ndjson', content: lines.join('\n') };
    lines = [];
    bytes = 0;
    sending = client.json('POST', path, { text }).then((answer) => take(answer as Answer));
    // Its failure is told where it is waited for.
    sending.catch(() => undefined);
  };
  for await (const record of recordsOf(file, refuse)) {
    const line = JSON.stringify(record);
    if (lines.length === DOCUMENTS || bytes + line.length > BYTES) await flush();
    lines.push(line);
    bytes += line.length;
  }
  await flush();
  await sending;
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
