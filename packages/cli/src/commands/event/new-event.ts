import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { NewEventOptions } from '@muster/fabric/client';
import type { Command } from 'commander';
import { MusterError } from '../../errors.js';
import { readingOf } from '../../files.js';
import { MAX_FILE_BYTES } from '../../limits.js';
import { type Call, collect } from '../../shell.js';
import { type FabricFlags, signatureKey } from './fabric.js';

export interface EventFlags extends FabricFlags {
  readonly attr?: readonly string[];
  readonly body?: string;
  readonly sign?: string;
}

export function withEvent(command: Command): Command {
  return command
    .option('--attr <name=value>', 'an attribute; may be repeated, and the order is kept', collect)
    .option('--body <text>', 'the body: text, - for standard input, or @FILE')
    .option('--sign <file>', 'sign it with the key in this file');
}

export interface FlaggedEvent extends Omit<NewEventOptions, 'type'> {
  readonly attributes: readonly (readonly [name: string, value: string])[];
}

/** What the flags say about an event. @throws MusterError `usage` */
export async function eventOf(call: Call<EventFlags>): Promise<FlaggedEvent> {
  const { attr = [], body, sign } = call.options;
  return {
    attributes: attr.map(attributeOf),
    ...(body !== undefined && { body: await bodyOf(call, body) }),
    ...(sign !== undefined && { sign: signatureKey(call, sign) }),
  };
}

function attributeOf(text: string): [string, string] {
  const equals = text.indexOf('=');
  if (equals < 1) throw new MusterError('usage', { reason: `--attr must be NAME=VALUE, got '${text}'` });
  return [text.slice(0, equals), text.slice(equals + 1)];
}

async function bodyOf({ world }: Call<EventFlags>, body: string): Promise<string | Uint8Array> {
  if (body === '-') return readAll(world.stdin);
  if (!body.startsWith('@')) return body;
  const path = resolve(world.cwd, body.slice(1));
  return readingOf(path, () => readFileSync(path));
}

async function readAll(input: AsyncIterable<Buffer | string>): Promise<Uint8Array> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of input) {
    const bytes = Buffer.from(part);
    size += bytes.length;
    // Far beyond what any server takes: it says itself what its limit is.
    if (size > MAX_FILE_BYTES) {
      throw new MusterError('usage', { reason: `the body is longer than ${MAX_FILE_BYTES} bytes` });
    }
    parts.push(bytes);
  }
  return Buffer.concat(parts);
}
