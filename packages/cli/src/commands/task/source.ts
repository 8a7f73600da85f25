import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { CsvError, csvRecords } from '../../csv.js';
import { MusterError } from '../../errors.js';
import { MAX_TASK_LINE_CHARS } from '../../limits.js';
import type { World } from '../../world.js';
import { typedValue } from './values.js';

/** Where many tasks come from. */
export interface TaskSource {
  /** A path, or `-`: stdin. */
  readonly from: string;
  readonly csv: boolean;
  /** Lines are tasks, not only their parameters. */
  readonly whole: boolean;
  /** Values of CSV are text, whatever they look like. */
  readonly text: boolean;
  /** Lines before this one are passed over. */
  readonly fromLine: number;
}

/** A task of a file, as it is added, and the line on which it stands. */
export interface SourcedTask {
  readonly line: number;
  readonly task: Readonly<Record<string, unknown>>;
}

export function isCsv(from: string): boolean {
  return from.toLowerCase().endsWith('.csv');
}

/**
 * Tasks of a file, one at a time in memory.
 * @param options What all of them have besides their parameters.
 * @throws MusterError `usage` with the line that is none.
 */
export async function* tasksOf(
  world: World,
  source: TaskSource,
  options: Readonly<Record<string, unknown>>,
): AsyncGenerator<SourcedTask> {
  const pieces = textOf(world, source.from);
  const found = source.csv ? csvParams(pieces, source) : jsonLines(pieces, source);
  for await (const { line, value } of found) {
    if (line < source.fromLine) continue;
    yield { line, task: source.whole ? { ...options, ...value } : { ...options, params: value } };
  }
}

function nameOf(from: string): string {
  return from === '-' ? 'stdin' : from;
}

function wrong(from: string, line: number, reason: string): MusterError {
  return new MusterError('usage', { reason: `${nameOf(from)}, line ${line}: ${reason}`, line });
}

async function* textOf(world: World, from: string): AsyncGenerator<string> {
  const bytes = from === '-' ? world.stdin : createReadStream(resolve(world.cwd, from));
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const piece of bytes) yield decoder.decode(piece as Uint8Array, { stream: true });
    yield decoder.decode();
  } catch (error) {
    const reason =
      error instanceof TypeError ? 'it is not UTF-8' : error instanceof Error ? error.message : String(error);
    throw new MusterError('usage', { reason: `cannot read ${nameOf(from)}: ${reason}` }, { cause: error });
  }
}

type Found = { readonly line: number; readonly value: Readonly<Record<string, unknown>> };

async function* jsonLines(pieces: AsyncIterable<string>, { from }: TaskSource): AsyncGenerator<Found> {
  let line = 1;
  for await (const text of linesOf(pieces, from)) {
    if (text.trim() !== '') yield { line, value: objectOf(text, from, line) };
    line += 1;
  }
}

async function* linesOf(pieces: AsyncIterable<string>, from: string): AsyncGenerator<string> {
  let begun = '';
  let line = 1;
  for await (const piece of pieces) {
    const lines = (begun + piece).split('\n');
    begun = lines.pop() ?? '';
    line += lines.length;
    if (begun.length > MAX_TASK_LINE_CHARS)
      throw wrong(
        from,
        line,
        `it has more than ${MAX_TASK_LINE_CHARS} characters; give the name or address of something larger`,
      );
    yield* lines;
  }
  yield begun;
}

function objectOf(text: string, from: string, line: number): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw wrong(from, line, 'it is not JSON; CSV is read with --csv');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong(from, line, 'it is no object');
  return value as Record<string, unknown>;
}

/** The first record names the parameters. */
async function* csvParams(pieces: AsyncIterable<string>, { from, text }: TaskSource): AsyncGenerator<Found> {
  let names: readonly string[] | null = null;
  try {
    for await (const { line, fields } of csvRecords(pieces, MAX_TASK_LINE_CHARS)) {
      if (names === null) {
        names = fields.map((name) => name.trim());
        if (new Set(names).size < names.length || names.includes('')) {
          throw wrong(from, line, 'it names the parameters, each once');
        }
        continue;
      }
      if (fields.length !== names.length) {
        throw wrong(from, line, `it has ${fields.length} fields, and there are ${names.length} names`);
      }
      yield { line, value: Object.fromEntries(names.map((name, at) => [name, typedValue(fields[at] ?? '', text)])) };
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw wrong(from, error.line, error.message);
  }
}
