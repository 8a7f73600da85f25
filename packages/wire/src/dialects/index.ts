import { isObject } from '../fields.js';
import { parseHeader } from '../header.js';
import type { Dialect } from '../messages/index.js';
import { chef2 } from './chef2.js';
import { native } from './native.js';
import { spec1 } from './spec1.js';
import type { ClaimedSender, DialectCodec } from './types.js';

export const dialects: Readonly<Record<Dialect, DialectCodec>> = { native, chef2, spec1 };

/** The dialect by the header's version; null for a header that nobody speaks. */
export function dialectOfHeader(header: Uint8Array): Dialect | null {
  switch (parseHeader(header)?.version) {
    case '1.0':
      return 'spec1';
    case '2.0':
      return 'chef2';
    case '3.0':
      return 'native';
    case undefined:
      return null;
  }
}

/** Reads `org` and `node` of a body that is not verified yet; check its size first. The same fields in every dialect. */
export function claimedSender(body: Uint8Array): ClaimedSender | null {
  let fields: unknown;
  try {
    fields = JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'));
  } catch {
    return null;
  }
  if (!isObject(fields)) return null;
  const { org, node } = fields;
  return typeof org === 'string' && org !== '' && typeof node === 'string' && node !== '' ? { org, node } : null;
}
