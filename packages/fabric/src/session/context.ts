import type { Clock } from '@muster/base';
import type { FabricLog } from '../log.js';
import type { FabricMetrics } from '../metrics.js';
import type { FlushScheduler } from '../outbound/flush-scheduler.js';
import type { MessagePrefixes } from '../outbound/message-prefix.js';
import type { Broker } from './broker.js';
import type { SessionRules } from './machine.js';

/** What all sessions of a root or relay share. */
export interface SessionContext<Session> {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly scheduler: FlushScheduler;
  readonly prefixes: MessagePrefixes;
  readonly metrics: FabricMetrics;
  readonly log: FabricLog;
  readonly rules: SessionRules;
  /** The largest event that a client may publish who logs in now. */
  eventLimit(): EventLimit;
  /** Most bytes that may wait for one client (F5). */
  readonly outboundBytes: number;
  /** Header `server` of CONNECTED: `muster/0.1.0`. */
  readonly server: string;
  /** Asked before received bytes are parsed. False: they may not be, and the session has been ended. */
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
  /** Name of the setting, for error messages. */
  readonly setting: string;
}
