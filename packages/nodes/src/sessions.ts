import type { Dialect, Session } from '@muster/wire';

/** A session and the dialect it was agreed for; a message is only opened with a session of its own dialect. */
export interface AgreedSession {
  readonly dialect: Dialect;
  readonly session: Session;
  /** Fingerprint of the key that asked for it. */
  readonly fingerprint: string;
  /** When that key expires, and with it what was agreed; null: it does not. */
  readonly expiresAt: number | null;
}

/**
 * The keys of one node: at most two. `current` is the one its last verified message used; `next` was handed out since
 * and becomes current with the first message under it, so that nothing on its way is lost in the change.
 */
export interface Sessions {
  current: AgreedSession | null;
  next: AgreedSession | null;
}

export function newSessions(): Sessions {
  return { current: null, next: null };
}

/**
 * The session to hand out for a configuration request. `chef2` keeps one key per node and server life, as deployed
 * (sheet §2.4), unless another client key asks for it; the other dialects get a fresh one.
 */
export function agreeSession(
  sessions: Sessions,
  dialect: Dialect,
  { fingerprint, expiresAt }: Pick<AgreedSession, 'fingerprint' | 'expiresAt'>,
  make: () => Session,
): AgreedSession {
  const kept = dialect === 'chef2' ? find(sessions, dialect, fingerprint) : null;
  if (kept !== null) return kept;
  const agreed: AgreedSession = { dialect, session: make(), fingerprint, expiresAt };
  if (sessions.current === null) sessions.current = agreed;
  else sessions.next = agreed;
  return agreed;
}

/** Sessions that may verify a message in this dialect now, the likelier first. */
export function candidates(sessions: Sessions, dialect: Dialect, now: number): readonly AgreedSession[] {
  const { current, next } = sessions;
  return [current, next].filter(
    (agreed): agreed is AgreedSession => agreed?.dialect === dialect && !hasEnded(agreed, now),
  );
}

/** The session that seals what is sent to the node now; null: there is none, or its key has expired. */
export function sealing({ current }: Sessions, now: number): AgreedSession | null {
  return current === null || hasEnded(current, now) ? null : current;
}

/** A message has verified under `agreed`. */
export function promote(sessions: Sessions, agreed: AgreedSession): void {
  if (sessions.next !== agreed) return;
  sessions.current = agreed;
  sessions.next = null;
}

/** The key with this fingerprint was taken away: what was agreed with it verifies nothing any more. True: there was something. */
export function revoke(sessions: Sessions, fingerprint: string): boolean {
  const nextEnded = sessions.next?.fingerprint === fingerprint;
  const currentEnded = sessions.current?.fingerprint === fingerprint;
  if (nextEnded) sessions.next = null;
  if (currentEnded) dropCurrent(sessions);
  return nextEnded || currentEnded;
}

/** Drops what was agreed with keys that have expired; true: there was such a session. */
export function expire(sessions: Sessions, now: number): boolean {
  const { current, next } = sessions;
  const nextEnded = next !== null && hasEnded(next, now);
  const currentEnded = current !== null && hasEnded(current, now);
  if (nextEnded) sessions.next = null;
  if (currentEnded) dropCurrent(sessions);
  return nextEnded || currentEnded;
}

function hasEnded({ expiresAt }: AgreedSession, now: number): boolean {
  return expiresAt !== null && expiresAt <= now;
}

function dropCurrent(sessions: Sessions): void {
  sessions.current = sessions.next;
  sessions.next = null;
}

function find(sessions: Sessions, dialect: Dialect, fingerprint: string): AgreedSession | null {
  for (const agreed of [sessions.next, sessions.current]) {
    if (agreed?.dialect === dialect && agreed.fingerprint === fingerprint) return agreed;
  }
  return null;
}
