import { resolve } from 'node:path';
import type { Command } from 'commander';
import { MusterError } from '../errors.js';
import { linesOfFile } from '../lines.js';
import { printable } from '../printable.js';
import { type Call, clientCommand, does, type Shell, subcommand } from '../shell.js';
import { addList, addRemove } from './resource.js';

interface CollectionInfo {
  readonly name: string;
  readonly documents: number;
}

/** Documents of one request, and their bytes. */
const DOCUMENTS = 1_000;
const BYTES = 600_000;
const LINE_BYTES = 500_000;

/** Documents that an organization keeps to make tasks of (T9). */
export function addCollection(program: Command, shell: Shell): void {
  const command = subcommand(program, {
    usage: 'collection',
    summary: 'documents that tasks are made of',
    examples: ['muster collection import users users.jsonl', 'muster collection list'],
  });
  addList<CollectionInfo>(command, shell, {
    summary: 'collections, and how many documents each has',
    examples: ['muster collection list'],
    read: ({ client }) => client.get(client.inOrg('collections')),
    columns: { Collection: ({ name }) => name, Documents: ({ documents }) => documents },
    none: 'no collections yet: muster collection import NAME FILE',
  });
  const importing = clientCommand(command, {
    usage: 'import <name> [file]',
    summary: 'append documents, a JSON object a line; without a file, or with -, those of stdin',
    examples: ['muster collection import users users.jsonl', 'muster collection import users --replace < users.jsonl'],
  });
  importing.option('--replace', 'in the place of those that it has');
  does<{ readonly replace?: boolean }>(importing, shell, importDocuments);
  addRemove(command, shell, {
    usage: 'rm <name>',
    summary: 'delete a collection with its documents',
    examples: ['muster collection rm users', 'muster collection rm users --yes'],
    question: (name = '') => `Delete collection ${printable(name)} with its documents?`,
    path: ({ client }, name = '') => client.inOrg('collections', name),
    done: (name) => ({ document: { name }, line: `deleted ${name}` }),
  });
}

async function importDocuments(call: Call<{ readonly replace?: boolean }>): Promise<void> {
  const [name = '', file = '-'] = call.args;
  const { client, world } = call;
  const path = client.inOrg('collections', name);
  const existing = await client.get<CollectionInfo[]>(client.inOrg('collections'));
  let after = existing.find((one) => one.name === name)?.documents ?? 0;
  if (call.options.replace === true && after > 0) {
    await client.delete(path);
    after = 0;
  }
  const before = after;
  let lines: string[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    if (lines.length === 0) return;
    const text = { type: 'application/x-ndjson', content: lines.join('\n') };
    const answer = (await client.json('POST', path, { text, query: { after } })) as { documents: number };
    after = answer.documents;
    lines = [];
    bytes = 0;
  };
  const source = file === '-' ? file : resolve(world.cwd, file);
  for await (const { line, text } of linesOfFile(source, LINE_BYTES, world.stdin)) {
    if (!isObject(text)) {
      await flush();
      throw new MusterError('usage', { reason: `line ${line} is no JSON object; what comes before it was added` });
    }
    if (lines.length === DOCUMENTS || bytes + text.length > BYTES) await flush();
    lines.push(text.trim());
    bytes += Buffer.byteLength(text);
  }
  await flush();
  call.out.document({ name, added: after - before, documents: after });
  call.out.line(`added ${after - before} documents to ${name}, which has ${after}`);
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
