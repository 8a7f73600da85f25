import { MusterError } from '@muster/wire/errors';
import { FABRIC_LIMITS } from '../limits.js';
import { bytesOf } from '../stomp/bytes.js';
import { EMPTY_BODY, type Headers } from '../stomp/frame.js';
import { signEvent } from './signature.js';
import type { PublishOptions } from './types.js';

const DESTINATION: Headers = [['destination', '/topic/events']];
const TYPE = /^[A-Za-z0-9_.-]{1,128}$/;
/** The server would refuse them, and the connection would be lost over it. */
const RESERVED = new Set([
  ...['type', 'token', 'signature', 'org', 'source', 'time', 'message-id', 'subscription', 'ack', 'position'],
  ...['redelivered', 'destination', 'receipt', 'transaction', 'content-length', 'content-type', 'at', 'on-behalf'],
  'on-behalf-kind',
]);

export interface EncodedEvent {
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** Headers and body of a SEND; signing takes a while. @throws MusterError `invalid_field` */
export function encodeEvent(event: PublishOptions): EncodedEvent | Promise<EncodedEvent> {
  const { type, attributes = [], token, sign, at } = event;
  if (!TYPE.test(type)) throw invalid(`type ${JSON.stringify(type)}`, 'expected 1 to 128 of A-Z a-z 0-9 _ . -');
  for (const [name, value] of attributes) checkAttribute(name, value);
  if (token !== undefined) checkText('token', token);
  const body = typeof event.body === 'string' ? bytesOf(event.body) : (event.body ?? EMPTY_BODY);
  const own: Headers = [['type', type], ...attributes, ...optional('token', token)];
  const made = (signature?: string): EncodedEvent => ({
    headers: [...DESTINATION, ...own, ...optional('signature', signature), ...optional('at', at)],
    body,
  });
  return sign === undefined ? made() : signEvent(own, body, sign).then(made);
}

function checkAttribute(name: string, value: string): void {
  const shown = `attribute ${JSON.stringify(name)}`;
  if (name === '' || bytesOf(name).length > FABRIC_LIMITS.headerNameBytes) {
    throw invalid(shown, `a name has 1 to ${FABRIC_LIMITS.headerNameBytes} bytes`);
  }
  if (RESERVED.has(name)) throw invalid(shown, 'this name has a meaning of its own');
  checkText(shown, name);
  checkText(shown, value);
}

function checkText(field: string, text: string): void {
  if (text.includes('\0')) throw invalid(field, 'no NUL can be sent in it');
}

function optional(name: string, value: string | number | undefined): Headers {
  return value === undefined ? [] : [[name, String(value)]];
}

function invalid(field: string, reason: string): MusterError {
  return new MusterError('invalid_field', { field, reason });
}
