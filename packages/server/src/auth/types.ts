import type { KeyObject } from 'node:crypto';

export type PrincipalType = 'user' | 'node' | 'service';

/** The two spaces of names: a user and a client of an organization may have the same. */
export function kindOf(type: PrincipalType): 'user' | 'client' {
  return type === 'user' ? 'user' : 'client';
}

export interface Organization {
  /** 32 hex digits. */
  readonly id: string;
  readonly name: string;
}

/** Who is calling, established by signature, bearer token or enrolment token. */
export interface Identity {
  readonly principalId: string;
  readonly type: PrincipalType;
  readonly name: string;
  /** May manage organizations and users of the whole server. */
  readonly serverAdmin: boolean;
  /** PEM of the key that verified the request; null for bearer tokens. Encrypts the session key. */
  readonly publicKey: string | null;
  /** The same, parsed, where it was at hand. */
  readonly parsedKey?: KeyObject;
}

/**
 * What a route asks for. Roles are groups (sheet §7.3, decisions N13 and N14):
 *
 * | permission | who |
 * |---|---|
 * | `push:read` | members of `push_job_readers`; any organization member when that group does not exist |
 * | `push:write` | members of `push_job_writers`; members of `admins` when that group does not exist |
 * | `push:execute` | as `push:write`, or EXECUTE on at least one node group (N13) |
 * | `org:admin` | members of `admins`, server administrators |
 * | `server:admin` | server administrators |
 * | `node:self` | the node named in the route; others as `push:read` |
 * | `user:self` | the user named in the route; server administrators |
 * | `member` | any member of the organization; outside an organization, any user |
 */
export type Permission =
  | 'push:read'
  | 'push:write'
  | 'push:execute'
  | 'org:admin'
  | 'server:admin'
  | 'node:self'
  | 'user:self'
  | 'member';

/** What the audit table records (append-only). */
export interface AuditEntry {
  readonly orgId: string | null;
  readonly actor: string;
  /** Dotted, e.g. `push.start`, `principal.create`, `access.denied`. */
  readonly action: string;
  readonly target: string;
  readonly outcome: 'done' | 'denied';
  readonly detail?: Readonly<Record<string, string | number | boolean | null>>;
}
