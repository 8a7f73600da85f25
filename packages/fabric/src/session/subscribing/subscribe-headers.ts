import { type Expression, parseSelector, SelectorError } from '@muster/selector';
import { MusterError } from '../../errors.js';
import { FABRIC_LIMITS } from '../../limits.js';
import { SLOW_POLICIES, type SlowPolicy } from '../../outbound/drop-queue.js';
import { isDurableName } from '../../protocol/durable-name.js';
import type { ReplayStart } from '../../protocol/replay-start.js';
import { parseFrom } from '../../protocol/replay-start.js';
import { bytesOf } from '../../stomp/bytes.js';
import { type Frame, header } from '../../stomp/frame.js';
import type { AckMode } from '../broker.js';

/** The header `selector`; without one, everything. @throws MusterError `event_selector` */
export function selectorOf(frame: Frame): Expression {
  const text = header(frame, 'selector') ?? '';
  const limit = FABRIC_LIMITS.selectorBytes;
  if (bytesOf(text).length > limit) {
    const hint = 'Select by fewer or shorter conditions, or in several subscriptions.';
    throw new MusterError('event_selector', { position: limit, reason: `it is longer than ${limit} bytes`, hint });
  }
  try {
    return parseSelector(text, { sugar: false });
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    const { position, reason, hint } = error;
    throw new MusterError('event_selector', { position, reason, hint }, { cause: error });
  }
}

/** @throws MusterError `stomp_missing_header` */
export function needed(frame: Frame, name: string): string {
  const value = header(frame, name);
  if (value === undefined) throw new MusterError('stomp_missing_header', { command: frame.command, header: name });
  return value;
}

const ACK_MODES: readonly AckMode[] = ['auto', 'client', 'client-individual'];

export function ackModeOf(frame: Frame): AckMode {
  return oneOf(frame, 'ack', ACK_MODES, 'auto');
}

export function slowPolicyOf(frame: Frame): SlowPolicy {
  return oneOf(frame, 'slow', SLOW_POLICIES, 'disconnect');
}

function oneOf<T extends string>(frame: Frame, name: string, choices: readonly T[], otherwise: T): T {
  const value = header(frame, name);
  if (value === undefined) return otherwise;
  const found = choices.find((choice) => choice === value);
  if (found !== undefined) return found;
  throw wrongValue(frame, name, `must be one of ${choices.join(', ')}`);
}

/** The name of a durable subscription, or null. */
export function durableOf(frame: Frame, mode: AckMode): string | null {
  const name = header(frame, 'durable');
  if (name === undefined) return null;
  if (!isDurableName(name)) throw wrongValue(frame, 'durable', 'must be 1 to 128 of A-Z a-z 0-9 _ . -');
  if (mode === 'auto') throw wrongValue(frame, 'durable', 'needs ack:client or ack:client-individual beside it');
  return name;
}

/**
 * Whether UNSUBSCRIBE asks for what is kept of a durable subscription to be deleted, by its name.
 * @throws MusterError `stomp_header_value`: that is the name of another, which the client may not have meant to lose
 */
export function isForgotten(frame: Frame, { id, durable }: { id: string; durable: string | null }): boolean {
  const name = header(frame, 'durable');
  if (name === undefined) return false;
  if (name === durable) return true;
  const is = durable === null ? 'is not durable' : `is the durable one '${durable}'`;
  throw wrongValue(frame, 'durable', `does not name the subscription '${id}', which ${is}`);
}

export function fromOf(frame: Frame): ReplayStart | null {
  const text = header(frame, 'from');
  if (text === undefined) return null;
  const from = parseFrom(text);
  if (from !== null) return from;
  throw wrongValue(
    frame,
    'from',
    'must be first, a position, a time such as 2026-11-20T12:00:00Z, or -10s, -30m, -1h, -2d',
  );
}

/** What is replayed waits for the client, so that none of it need be dropped. */
export function checkPatient(frame: Frame): void {
  const slow = header(frame, 'slow');
  if (slow === undefined || slow === 'disconnect') return;
  throw wrongValue(frame, 'slow', 'has no meaning together with from or durable, which lose nothing');
}

export function wrongValue(frame: Frame, name: string, reason: string): MusterError {
  return new MusterError('stomp_header_value', { command: frame.command, header: name, reason });
}
