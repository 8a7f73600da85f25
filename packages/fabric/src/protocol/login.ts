import type { EventAccess } from '../event/access.js';

/** What a root grants to whoever has logged in; relays are told it for the clients that log in at them. */
export interface Login {
  readonly access: EventAccess;
  /** When the session ends, in milliseconds since the epoch; null: never. */
  readonly expiresMs: number | null;
  /**
   * What the login was granted for, such as an id of a key or token: no secret, and only the authority reads it, in
   * `renew`.
   */
  readonly grounds: string;
  /**
   * Number of the latest change of rights when this login was judged: revocations up to it do not concern this login.
   */
  readonly stamp?: number;
}

export interface Revoked {
  /** Name of the organization. */
  readonly org: string;
  /** `ORG/NAME`; null: all of the organization. */
  readonly principal: string | null;
  /** Logins with this stamp or a greater one were judged after the change, and stay. Absent: all logins are revoked. */
  readonly before?: number;
}
