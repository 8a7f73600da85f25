import { normalizePublicKey, publicHalf } from '@muster/signing';
import { pathOf, RefusedError } from '../client.js';
import { formatDuration } from '../duration.js';
import { printable } from '../printable.js';
import type { Credentials } from '../settings.js';
import type { Call } from '../shell.js';
import { timeText } from '../summary.js';
import { allKeys, expiresBy, type OwnedKey } from './key.js';
import type { Key } from './keys.js';

export interface Check {
  readonly name: string;
  readonly result: 'ok' | 'warning' | 'failed';
  readonly text: string;
}

/** What ends sooner is warned of: time enough to replace it. */
const WARNING_SECONDS = 30 * 86_400;
const MOST_KEYS_NAMED = 20;

type KeyCredentials = Extract<Credentials, { kind: 'key' }>;

/** As `/_status` tells it. */
export interface CertificateStatus {
  readonly listener: string;
  readonly expires_at: string;
}

/** Of the listeners that speak TLS. */
export function* certificates(found: readonly CertificateStatus[], now: number): Generator<Check> {
  for (const { listener, expires_at } of found) {
    const name = `certificate of ${printable(listener)}`;
    const { result, text } = ending(expires_at, now);
    const advice = result === 'ok' ? '' : '; put the renewed one in its place and restart the server';
    yield { name, result, text: `${text}${advice}` };
  }
}

/** As `/_status` tells it. */
export interface ServerKeyStatus {
  readonly fingerprint: string;
  readonly next: string | null;
}

/** It does not expire. When it is replaced, agents that are away for long, and copies of it elsewhere, are to be thought of. */
export function serverKey({ fingerprint, next }: ServerKeyStatus, now: number): Check {
  const name = 'server key';
  const text = `${printable(fingerprint).slice(0, 12)}…`;
  if (next === null) return { name, result: 'ok', text: `${text}, no other is announced` };
  const left = (Date.parse(next) - now) / 1000;
  const when = left > 0 ? `in ${formatDuration(left)}` : 'now';
  const advice = 'back up data_dir after that; who knows of it: muster server-key status';
  return { name, result: 'warning', text: `${text}, the next takes over ${when}, at ${timeText(next)}; ${advice}` };
}

/** Keys of whoever asks, and for admins those of the organization. Nothing is said where the server does not let look. */
export async function* keys(call: Call<object>): AsyncGenerator<Check> {
  const now = call.world.now();
  const { credentials } = call.settings;
  const own = credentials.kind === 'key' ? await ownKey(call, credentials) : undefined;
  if (own !== undefined) yield tellOwn(own, now);
  const found = await orNull(() => allKeys(call, WARNING_SECONDS));
  if (found === null) return;
  const soon = found.filter(({ type, name, fingerprint }) => {
    return own === undefined || type !== own.type || name !== own.name || fingerprint !== own.fingerprint;
  });
  if (soon.length === 0) {
    yield { name: 'keys', result: 'ok', text: 'no other of the organization expires within 30 days' };
    return;
  }
  for (const key of soon.slice(0, MOST_KEYS_NAMED)) yield keyOfSomebody(key, now);
  if (soon.length > MOST_KEYS_NAMED) {
    const text = `${soon.length - MOST_KEYS_NAMED} more expire within 30 days: muster key list --all --expires-within 30d`;
    yield { name: 'keys', result: 'warning', text };
  }
}

function tellOwn({ name, expires_at }: OwnedKey, now: number): Check {
  if (expires_at === null) return { name: 'your key', result: 'ok', text: 'does not expire' };
  const { result, text } = ending(expires_at, now);
  const advice = result === 'ok' ? '' : `; add the next: muster user add-key ${name} --key-out FILE --expires 90d`;
  return { name: 'your key', result, text: `${text}${advice}` };
}

function keyOfSomebody({ type, name, fingerprint, expires_at }: OwnedKey, now: number): Check {
  const { text } = ending(expires_at ?? '', now);
  const what = `key ${fingerprint.slice(0, 12)}… of ${type} ${printable(name)}`;
  const advice = `add the next, or take it away: muster ${type} add-key ${name}, rm-key ${name}`;
  return { name: what, result: 'warning', text: `${text}; ${advice}` };
}

function ending(expiresAt: string, now: number): Pick<Check, 'result' | 'text'> {
  const left = Date.parse(expiresAt) - now;
  if (left <= 0) return { result: 'failed', text: `expired at ${timeText(expiresAt)}` };
  const soon = expiresBy({ expires_at: expiresAt }, now + WARNING_SECONDS * 1000);
  return {
    result: soon ? 'warning' : 'ok',
    text: `expires in ${formatDuration(left / 1000)}, at ${timeText(expiresAt)}`,
  };
}

/** The one that signs; undefined: it is not that of a user, or not to be seen by whoever asks. */
async function ownKey(call: Call<object>, { user, privateKey }: KeyCredentials): Promise<OwnedKey | undefined> {
  const { fingerprint } = normalizePublicKey(publicHalf(privateKey));
  const keys = (await orNull(() => call.client.get<Key[]>(pathOf('users', user, 'keys')))) ?? [];
  const used = keys.find((key) => key.fingerprint === fingerprint);
  return used === undefined ? undefined : { type: 'user', name: user, ...used };
}

async function orNull<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof RefusedError) return null;
    throw error;
  }
}
