import type { Clock } from '@muster/wire';
import type { FabricMetrics } from '../metrics.js';
import type { Flush } from './flush.js';
import type { SessionRules } from './machine.js';
import type { Broker } from './ports.js';
import type { Prefixes } from './prefix.js';

/** What all sessions of a root or relay share. `Session` is the kind of session that is told of. */
export interface SessionContext<Session> {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly flush: Flush;
  readonly prefixes: Prefixes;
  readonly metrics: FabricMetrics;
  readonly log: FabricLog;
  readonly rules: SessionRules;
  /** Of those who log in now. */
  eventLimit(): EventLimit;
  /** Of unsent bytes (F5). */
  readonly outletBytes: number;
  /** Header `server` of CONNECTED: `muster/0.1.0`. */
  readonly server: string;
  /** Bytes have come from a client and were not looked at yet. False: they may not be, and the session has ended. */
  mayRead(session: Session): boolean;
  /** Logged in. */
  opened(session: Session): void;
  /** The connection is over, whether it was logged in or not. Once. */
  closed(session: Session): void;
}

/** The largest event. */
export interface EventLimit {
  /** Of type, attributes and body. */
  readonly bytes: number;
  /** What people set it by, for the words of a refusal. */
  readonly setting: string;
}

/** What the fabric logs with; pino fits. */
export interface FabricLog {
  debug(details: object, message: string): void;
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}
