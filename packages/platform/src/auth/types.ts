import type { KeyObject } from 'node:crypto';
import type { PrincipalKind } from '@muster/fabric';

export type PrincipalType = PrincipalKind;

/** The two spaces of names: a user and a client of an organization may have the same. */
export function kindOf(type: PrincipalType): 'user' | 'client' {
  return type === 'user' ? 'user' : 'client';
}

export type { Organization } from '../log/types.js';

/** Who is calling, established by signature, bearer token or enrolment token. */
export interface Identity {
  readonly principalId: string;
  readonly type: PrincipalType;
  readonly name: string;
  /** May manage organizations and users of the whole server. */
  readonly serverAdmin: boolean;
  /** PEM of the key that verified the request; null for bearer tokens and sessions. Encrypts the session key. */
  readonly publicKey: string | null;
  /** The same, parsed, where it was at hand. */
  readonly parsedKey?: KeyObject;
  /** When that key expires; null or absent: it does not. */
  readonly keyExpiresAt?: number | null;
  /** Known by the token of an issuer alone: no group has such a member, whatever its name is. */
  readonly external?: true;
  /** Comma separated, as the token of an issuer says them. They give no rights. */
  readonly roles?: string;
  /** Where the request came from. */
  readonly address?: string;
}

/** Who did something: a user may have the name of a node or a service. */
export interface Actor {
  readonly name: string;
  readonly kind: ActorKind;
  /** Where the request came from, as far as it is known: behind a trusted proxy what that says. */
  readonly address?: string;
}

/** `claimed`: the name is that of a request which was refused before anybody proved to be that. */
export type ActorKind = PrincipalType | 'server' | 'claimed';

export function actorOf({ name, type: kind, address }: Identity): Actor {
  return { name, kind, ...(address !== undefined && { address }) };
}

/** What somebody proved with who they are. */
export type Credential =
  | { readonly kind: 'key'; readonly pem: string; readonly expiresMs: number | null }
  /** `signedIn`: at an issuer. */
  | { readonly kind: 'token'; readonly hash: string; readonly expiresMs: number; readonly signedIn: boolean }
  /** Of the console, in a browser. `signedIn`: at an issuer, by the token that it began with. */
  | { readonly kind: 'session'; readonly hash: string; readonly expiresMs: number; readonly signedIn: boolean }
  | { readonly kind: 'jwt'; readonly hash: string; readonly expiresMs: number; readonly issuerId: string };

/** Of a key or a login: does it not end, or only later? */
export function isGood(expiresMs: number | null, now: number): boolean {
  return expiresMs === null || expiresMs > now;
}

/** What routes may ask for. Each layer adds its own, and says with `DeclaredRights` who has them. */
export interface PermissionTable {
  'org:admin': true;
  'server:admin': true;
  'user:self': true;
  'user:consent': true;
  'node:read': true;
  'secret:use': true;
  member: true;
}

export type Permission = keyof PermissionTable;

/** What the audit table records (append-only). */
export interface AuditEntry {
  readonly orgId: string | null;
  readonly actor: Actor;
  /** Dotted, e.g. `push.start`, `principal.create`, `access.denied`. */
  readonly action: string;
  readonly target: string;
  /**
   * `failed`: the server tried it by itself, for somebody, and could not; `forged`: it was found in the database, and no server
   * wrote it as it stands.
   */
  readonly outcome: 'done' | 'denied' | 'failed' | 'forged';
  readonly detail?: Readonly<Record<string, string | number | boolean | null>>;
}
