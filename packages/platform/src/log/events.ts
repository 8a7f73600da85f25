import type { Clock } from '@muster/base';
import type { EventLog } from '@muster/fabric';
import type { Store } from '@muster/store';
import type { ServerConfig } from '../config/schema.js';
import { type OrganizationId, StoredLog } from './log.js';
import { Recorder, type RecorderDeps } from './recorder.js';
import { type OpenSubjects, Retention } from './retention.js';

export interface EventsDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: EventsLogger;
  readonly config: Pick<ServerConfig, 'events'>;
  readonly organizationId: OrganizationId;
  readonly organizationName: RecorderDeps['organizationName'];
  /** Of each layer that shows feeds. */
  readonly openSubjects?: readonly OpenSubjects[];
}

/** pino fits. */
export interface EventsLogger {
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

/** What every layer records its events with, and the log they are in. */
export interface Events {
  readonly recorder: Recorder;
  readonly log: EventLog;
  readonly retention: Retention;
  /** Goes on where the log ends. Before anything is recorded. */
  load(): Promise<void>;
  /** Bounds the log from now on. */
  start(): void;
  /** Everything that was appended is stored then. Before the store is closed. */
  stop(): Promise<void>;
}

export function createEvents(deps: EventsDeps): Events {
  const { store, clock, logger, organizationId } = deps;
  const { keep, max_bytes: maxBytes, max_size: maxSize } = deps.config.events;
  const recorder = new Recorder({
    store,
    clock,
    maxSize,
    organizationName: deps.organizationName,
    failed: (error) => logger.error({ err: error }, 'somebody who was told of events failed'),
  });
  const retention = new Retention({
    store,
    clock,
    recorder,
    keepMs: keep * 1000,
    maxBytes,
    openSubjects: deps.openSubjects ?? [],
    failed: (error) => logger.warn({ err: error }, 'old events could not be deleted'),
  });
  const log = new StoredLog({ store, recorder, retention, organizationId, maxSize });
  return {
    recorder,
    log,
    retention,
    async load() {
      await recorder.load();
      await retention.load();
    },
    start: () => retention.start(),
    async stop() {
      await retention.stop();
      await log.stop();
      recorder.stop();
    },
  };
}
