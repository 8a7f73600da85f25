import { FABRIC_LIMITS } from '../../limits.js';
import { parseAt } from '../../protocol/replay-start.js';
import { bytesOf } from '../../stomp/bytes.js';
import { EMPTY_BODY, type Headers } from '../../stomp/frame.js';
import { checkFields, invalid, KEY, type Rule, type Rules, unfit } from '../field-rules.js';
import type { Attributes, PublishOptions } from '../types.js';
import { signEvent } from './signature.js';

const DESTINATION: Headers = [['destination', '/topic/events']];
const TYPE = /^[A-Za-z0-9_.-]{1,128}$/;
/** The server would refuse them, and the connection would be lost over it. */
const RESERVED = new Set([
  ...[
    'type',
    'token',
    'signature',
    'org',
    'source',
    'source-kind',
    'time',
    'message-id',
    'subscription',
    'ack',
    'position',
  ],
  ...['redelivered', 'destination', 'receipt', 'transaction', 'content-length', 'content-type', 'at', 'on-behalf'],
  'on-behalf-kind',
]);

export interface EncodedEvent {
  readonly headers: Headers;
  readonly body: Uint8Array;
}

const TEXT_WITHOUT_NUL: Rule = {
  fits: (value) => typeof value === 'string' && !value.includes('\0'),
  expected: 'a text without NUL',
};
const VALUE: Rule = {
  fits: (value) => TEXT_WITHOUT_NUL.fits(value) || typeof value === 'boolean' || Number.isFinite(value),
  expected: 'a text without NUL, a number, true or false',
};

const EVENT: Rules<PublishOptions> = {
  type: {
    fits: (value) => typeof value === 'string' && TYPE.test(value),
    expected: 'a text of 1 to 128 of A-Z a-z 0-9 _ . -',
  },
  attributes: {
    fits: (value) => typeof value === 'object' && value !== null,
    expected: "a list such as [['host', 'db1']] or an object such as { host: 'db1' }",
  },
  body: {
    fits: (value) => typeof value === 'string' || value instanceof Uint8Array,
    expected: 'text or bytes (Uint8Array); JSON.stringify makes text of anything else',
  },
  contentType: TEXT_WITHOUT_NUL,
  token: TEXT_WITHOUT_NUL,
  sign: KEY,
  at: {
    fits: (value) => ['string', 'number'].includes(typeof value) && parseAt(String(value)) !== null,
    expected: 'a time with its zone such as 2026-11-20T12:00:00Z, or milliseconds since 1970',
  },
};

/** Headers and body of a SEND; signing takes a while. @throws MusterError `invalid_field` */
export function encodeEvent(event: PublishOptions): EncodedEvent | Promise<EncodedEvent> {
  checkEvent(event);
  const { type, attributes = [], token, sign, at, contentType } = event;
  const body = typeof event.body === 'string' ? bytesOf(event.body) : (event.body ?? EMPTY_BODY);
  const own: Headers = [['type', type], ...attributePairs(attributes), ...optional('token', token)];
  const made = (signature?: string): EncodedEvent => ({
    headers: [
      ...DESTINATION,
      ...own,
      ...optional('signature', signature),
      ...optional('at', at),
      ...optional('content-type', contentType),
    ],
    body,
  });
  return sign === undefined ? made() : signEvent(own, body, sign).then(made);
}

/** All but the single attributes. @throws MusterError `invalid_field` */
export function checkEvent(event: PublishOptions): void {
  checkFields<PublishOptions>('event', event, EVENT);
  if (event.type === undefined) throw unfit('type', EVENT.type, event.type);
}

/** As headers. @throws MusterError `invalid_field` */
export function attributePairs(attributes: Attributes): Headers {
  if (!EVENT.attributes.fits(attributes)) throw unfit('attributes', EVENT.attributes, attributes);
  const pairs: readonly unknown[] = Array.isArray(attributes) ? attributes : Object.entries(attributes);
  return pairs.map((pair, index) => {
    if (!Array.isArray(pair) || pair.length !== 2) {
      throw unfit(`attributes[${index}]`, { expected: "a name and a value such as ['host', 'db1']" }, pair);
    }
    const [name, value] = pair as [unknown, unknown];
    if (!TEXT_WITHOUT_NUL.fits(name)) throw unfit(`attributes[${index}]`, { expected: 'a name without NUL' }, name);
    checkAttribute(name as string, value);
    return [name as string, String(value)];
  });
}

function checkAttribute(name: string, value: unknown): void {
  const shown = `attribute ${JSON.stringify(name)}`;
  if (name === '' || bytesOf(name).length > FABRIC_LIMITS.headerNameBytes) {
    throw invalid(shown, `a name has 1 to ${FABRIC_LIMITS.headerNameBytes} bytes`);
  }
  if (RESERVED.has(name)) throw invalid(shown, `a name of the protocol, as are ${[...RESERVED].join(', ')}`);
  if (!VALUE.fits(value)) throw unfit(shown, VALUE, value);
}

function optional(name: string, value: string | number | undefined): Headers {
  return value === undefined ? [] : [[name, String(value)]];
}
