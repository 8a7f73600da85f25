import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseFailure } from '@muster/base';
import { parse } from 'yaml';
import { MusterError } from './errors.js';
import { MAX_DOCUMENT_BYTES } from './limits.js';
import { printable } from './printable.js';
import type { World } from './world.js';

/**
 * What `read` makes of a file that was named.
 * @throws MusterError `usage` with the file when it is missing or unreadable; its own MusterError.
 */
export function readingOf<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof MusterError) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new MusterError('usage', { reason: `cannot read ${path} (${code})` }, { cause: error });
  }
}

/**
 * The path of a file that is no document: it is read by its size, and perhaps twice.
 * @throws MusterError `usage` when it is meant to be standard input
 */
export function pathOfFile(flag: string, cwd: string, file: string): string {
  if (file !== '-') return resolve(cwd, file);
  throw new MusterError('usage', {
    reason: `${flag} takes a file, and not standard input; one that is called - is ./-`,
  });
}

/**
 * The JSON of a file; `-`: of standard input.
 * @throws MusterError `malformed_document` when it is no JSON, `usage` when it cannot be read or is too long.
 */
export function jsonOf(world: World, path: string): Promise<unknown> {
  return documentOf(world, path, 'JSON', JSON.parse);
}

/** The YAML, or JSON, of a file, as `jsonOf`. */
export function yamlOf(world: World, path: string): Promise<unknown> {
  return documentOf(world, path, 'YAML', parse);
}

/** As `yamlOf`, of what was read there. @throws MusterError `malformed_document` */
export function yamlIn(text: string, path: string): unknown {
  return documentIn(text, path, 'YAML', parse);
}

async function documentOf(
  world: World,
  path: string,
  form: string,
  parsed: (text: string) => unknown,
): Promise<unknown> {
  return documentIn(await textOf(world, path), path, form, parsed);
}

function documentIn(text: string, path: string, form: string, parsed: (text: string) => unknown): unknown {
  try {
    return parsed(text);
  } catch (error) {
    const reason = printable(parseFailure(error));
    throw new MusterError('malformed_document', { place: nameOf(path), form, reason }, { cause: error });
  }
}

/**
 * What is in a file; `-`: in standard input.
 * @throws MusterError `usage` when it cannot be read, is no text in UTF-8, or too long.
 */
export async function textOf({ stdin, cwd }: World, path: string): Promise<string> {
  const bytes = path === '-' ? await wholeOf(stdin) : readingOf(path, () => readFileSync(resolve(cwd, path)));
  if (bytes.length > MAX_DOCUMENT_BYTES) {
    throw new MusterError('usage', { reason: `${nameOf(path)} is longer than ${MAX_DOCUMENT_BYTES} bytes` });
  }
  if (!isUtf8(bytes)) throw new MusterError('usage', { reason: `${nameOf(path)} is no text in UTF-8` });
  return bytes.toString('utf8');
}

export const nameOf = (path: string): string => (path === '-' ? 'standard input' : path);

async function wholeOf(stdin: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of stdin) {
    pieces.push(piece);
    length += piece.length;
    if (length > MAX_DOCUMENT_BYTES) break;
  }
  return Buffer.concat(pieces);
}

/** Editors and `echo` end a password with a line end that is not part of it; of a text of several lines it is. */
export function withoutLineEnd(text: string): string {
  const line = text.replace(/\r?\n$/, '');
  return line.includes('\n') ? text : line;
}
