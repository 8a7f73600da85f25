import type { PrincipalKind } from '../event/access.js';
import type { LoggedEvent, NewEvent } from '../event/event.js';
import type { Login, Revoked } from '../protocol/login.js';

/** What the root needs from whoever runs it. The conformance suite in `test/support` says the same as tests. */
export interface RootPorts {
  readonly authority: Authority;
  readonly log: EventLog;
  readonly cursors: Cursors;
  readonly schedule: Schedule;
}

/** Who may come in, and what they may do. */
export interface Authority {
  /**
   * Rejects with a MusterError: `login_refused` for whatever is wrong with login or passcode, in the same words.
   * `remote` is the address of the peer; for a client of a relay, that of the relay.
   */
  login(login: string, passcode: string, context: { readonly remote: string }): Promise<Login>;
  /**
   * Judges a login again that was granted before, maybe by an earlier process: what it may do now. Rejects with
   * `login_refused` when it would not be let in any more.
   * @param grounds as in the login that was granted; only relays, which are believed, bring them.
   */
  renew(login: string, grounds: string): Promise<Login>;
  /**
   * Tells when what a login was granted may hold no longer: principal or membership removed, key or token withdrawn,
   * grants changed. The sessions are cut; who still may logs in again. Returns how to stop listening.
   */
  onRevoked(listener: (revoked: Revoked) => void): () => void;
}

/**
 * The durable log of all events, in the order of their positions. Positions are handed out when events are handed in
 * and grow; some are never used (a commit that failed).
 */
export interface EventLog {
  /** Position of the newest event that the listeners were told of; 0 before the first. */
  last(): number;
  /**
   * Gives the events positions and a time, and stores them. Resolves when they are durable, after the listeners were
   * told. All events of one call are in one commit, next to each other and in order. Rejects with `store_unavailable`,
   * or `organization_not_found` when one of theirs is gone: nothing of them is stored, and nobody is told of them.
   * @param stored May be called as soon as they are durable, before the listeners are told: what is appended then is
   * stored while they are.
   */
  append(events: readonly NewEvent[], stored?: () => void): Promise<readonly LoggedEvent[]>;
  /**
   * The listener is told of every event once it is durable, whoever appended it, strictly in order of position.
   * It must not throw. Returns how to stop listening.
   */
  onStored(listener: (events: readonly LoggedEvent[]) => void): () => void;
  /**
   * Events of one organization after a position, oldest first: those that listeners were told of and that are still
   * kept. At least one if there is one, then as many as `limit` allows.
   */
  read(after: number, org: string, limit: PageLimit): Promise<Page>;
  /** The greatest position whose events, and all before it, are older than that time (in ms since the epoch). */
  positionBefore(atMs: number): Promise<number>;
}

export interface PageLimit {
  readonly events: number;
  readonly bytes: number;
}

export interface Page {
  readonly events: readonly LoggedEvent[];
  /**
   * Everything of the organization up to and including this position is in this page or before it: where to read on.
   * Equal to `last()` when there was no more.
   */
  readonly through: number;
  /** Position after which nothing was pruned: when it is greater than `after`, older events are gone. */
  readonly prunedThrough: number;
}

/** How far durable subscriptions are. */
export interface Cursors {
  load(key: CursorKey): Promise<Cursor | null>;
  /** Overwrites. Resolves when all of them are durable. Rejects with `store_unavailable`. */
  save(cursors: readonly Cursor[]): Promise<void>;
  /** Whether there was one. */
  delete(key: CursorKey): Promise<boolean>;
  /** Of one organization, ordered by principal, kind and name. */
  list(org: string): Promise<readonly Cursor[]>;
}

export interface CursorKey {
  /** Name of the organization. */
  readonly org: string;
  /** `ORG/NAME` */
  readonly principal: string;
  readonly kind: PrincipalKind;
  /** As in the header `durable`. */
  readonly name: string;
}

export interface Cursor extends CursorKey {
  /** Everything up to here was acknowledged or does not match. */
  readonly through: number;
  /** Positions beyond `through` that were acknowledged out of turn, ascending; at most `FABRIC_LIMITS.prefetch`. */
  readonly acknowledged: readonly number[];
  /** As it was asked for last. */
  readonly selector: string;
  /** When it was last saved, in milliseconds since the epoch. */
  readonly savedMs: number;
}

/** Future events. Firing them is up to the implementation: it appends them to the log. */
export interface Schedule {
  /**
   * Stores an event to be published at a time, in milliseconds since the epoch (past: at once).Resolves with its id when durable.
   * Rejects with `store_unavailable`, or `too_busy` when the organization has too many.
   */
  put(event: NewEvent, atMs: number): Promise<string>;
}
