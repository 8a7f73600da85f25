import type { SshHost } from './host.js';

export type SshTroubleKind = 'CONNECTION_FAILURE' | 'CONNECTION_TIMEOUT' | 'AUTHENTICATION_FAILED' | 'HOST_KEY_CHANGED';

/** Why there is no connection. */
export class SshTrouble extends Error {
  override readonly name = 'SshTrouble';
  readonly kind: SshTroubleKind;

  constructor(kind: SshTroubleKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

const TIMEOUTS: ReadonlySet<unknown> = new Set(['ETIMEDOUT', 'ESOCKETTIMEDOUT']);

/** What an sshd answers to one session too many, and one that is short of something (RFC 4254 §5.1). */
const NO_ROOM: ReadonlySet<unknown> = new Set([2, 4]);

/** The host opens no further channel on this connection now. It counts one as open for a moment after it was closed. */
export function hasNoRoom(error: unknown): boolean {
  return error instanceof Error && 'reason' in error && NO_ROOM.has(error.reason);
}

/** Why there is no connection, from what the library says. */
export function connectionTrouble({ what, host, port, user }: SshHost, error: unknown): SshTrouble {
  if (error instanceof SshTrouble) return error;
  const told = error instanceof Error ? error.message : String(error);
  const where = `${what} (${user}@${host}:${port})`;
  const kind = kindOf(error, told);
  const texts: Partial<Record<SshTroubleKind, string>> = {
    AUTHENTICATION_FAILED: `${where} refused the login: ${told}. Give it a key or password that the host takes.`,
    CONNECTION_TIMEOUT: `${where} did not answer in time: ${told}`,
  };
  const otherwise = hasNoRoom(error)
    ? `${where} opens no further session: ${told}. Its sshd may allow too few (MaxSessions).`
    : `${where} cannot be reached: ${told}`;
  return new SshTrouble(kind, texts[kind] ?? otherwise, { cause: error });
}

function kindOf(error: unknown, told: string): SshTroubleKind {
  const level = error instanceof Error && 'level' in error ? error.level : null;
  const code = error instanceof Error && 'code' in error ? error.code : null;
  if (level === 'client-timeout' || TIMEOUTS.has(code)) return 'CONNECTION_TIMEOUT';
  // A key that cannot be read is told before anything is sent.
  if (level === 'client-authentication' || told.startsWith('Cannot parse privateKey')) return 'AUTHENTICATION_FAILED';
  return 'CONNECTION_FAILURE';
}
