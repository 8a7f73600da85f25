import { type System, SystemTrouble, type TroubleKind } from '../types.js';

const TIMEOUTS: ReadonlySet<unknown> = new Set(['ETIMEDOUT', 'ESOCKETTIMEDOUT']);

/** What an sshd answers to one session too many, and one that is short of something (RFC 4254 §5.1). */
const NO_ROOM: ReadonlySet<unknown> = new Set([2, 4]);

/** The host opens no further channel on this connection now. It counts one as open for a moment after it was closed. */
export function hasNoRoom(error: unknown): boolean {
  return error instanceof Error && 'reason' in error && NO_ROOM.has(error.reason);
}

/** Why there is no connection, from what the library says. */
export function connectionTrouble(
  system: Pick<System, 'name' | 'host' | 'port' | 'user'>,
  error: unknown,
): SystemTrouble {
  if (error instanceof SystemTrouble) return error;
  const { host, port = 22, user } = system;
  const told = error instanceof Error ? error.message : String(error);
  const where = `system ${system.name} (${user}@${host}:${port})`;
  const kind = kindOf(error, told);
  const texts: Partial<Record<TroubleKind, string>> = {
    AUTHENTICATION_FAILED: `${where} refused the login: ${told}. Give it a key or password that the host takes.`,
    CONNECTION_TIMEOUT: `${where} did not answer in time: ${told}`,
  };
  const otherwise = hasNoRoom(error)
    ? `${where} opens no further session: ${told}. Its sshd may allow too few (MaxSessions).`
    : `${where} cannot be reached: ${told}`;
  return new SystemTrouble(system.name, kind, texts[kind] ?? otherwise, { cause: error });
}

function kindOf(error: unknown, told: string): TroubleKind {
  const level = error instanceof Error && 'level' in error ? error.level : null;
  const code = error instanceof Error && 'code' in error ? error.code : null;
  if (level === 'client-timeout' || TIMEOUTS.has(code)) return 'CONNECTION_TIMEOUT';
  // A key that cannot be read is told before anything is sent.
  if (level === 'client-authentication' || told.startsWith('Cannot parse privateKey')) return 'AUTHENTICATION_FAILED';
  return 'CONNECTION_FAILURE';
}
