import type { Broker } from '@muster/broker';
import { type IdentityListener, organizationsById } from '@muster/platform/auth';
import type { Base, Layer } from '@muster/platform/layers';
import { openMailer } from '@muster/platform/outbound';
import { Leases } from '@muster/store';
import { EventTopic } from '../notifications/topic.js';
import { RecoveryReaders } from '../recovery/reader.js';
import type { JobStore } from '../repository/job-store.js';
import { JobRetention } from '../retention.js';
import type { Systems } from '../systems/types.js';
import { LostWorkers } from '../worker/lost-workers.js';
import { type StrayKind, StrayReader, strayCounter } from './stray-reader.js';

export interface JobReadersDeps {
  readonly broker: Broker;
  readonly jobs: JobStore;
  readonly systems: Pick<Systems, 'open'>;
}

export interface JobReaders
  extends Required<Pick<Layer, 'start' | 'stop'>>,
    Required<Pick<IdentityListener, 'organizationRemoved'>> {
  readonly recovery: RecoveryReaders;
  /** Each can be started alone, in the place of all. */
  readonly strays: Readonly<Record<StrayKind, StrayReader>>;
}

/**
 * What looks after jobs beside their workers, composed: readers of recovery, of what nobody took; the topic of events, and retention. Any
 * number of processes may have it: each part acts in one of them at a time.
 */
export function createJobReaders(base: Base, deps: JobReadersDeps): JobReaders {
  const { store, recorder, clock, logger: log, metrics, config, incarnation } = base;
  const { broker, jobs, systems } = deps;
  const { support_mail: supportMail, keep } = config.jobs;
  const { private_targets: privateTargets, smtp_url: url, mail_from: from } = config.outbound;
  const leases = new Leases({ store, clock, holder: incarnation });
  const mailer = openMailer({ ...(url !== undefined && { url }), from, log });
  const recovery = new RecoveryReaders({ store, recorder, jobs, broker, systems, leases, clock, log, privateTargets });
  const counted = strayCounter(metrics);
  const stray = (kind: StrayKind): StrayReader =>
    new StrayReader({
      kind,
      store,
      recorder,
      broker,
      leases,
      clock,
      log,
      mailer,
      counted,
      ...(supportMail !== undefined && { supportMail }),
    });
  const strays = { alternate: stray('alternate'), 'dead-letter': stray('dead-letter') };
  const topic = new EventTopic({ recorder, broker, log });
  const retention = new JobRetention({
    store,
    clock,
    keepMs: keep * 1000,
    failed: (error) => log.warn({ err: error }, 'old jobs could not be deleted'),
  });
  const lost = new LostWorkers({ store, recorder, leases, clock, log });
  const parts = [lost, strays.alternate, strays['dead-letter'], retention];
  return {
    recovery,
    strays,
    organizationRemoved: (orgId) => recovery.remove(orgId),
    /** Organizations that are made later are added to `recovery` by whoever makes their queues. */
    async start() {
      topic.start();
      for (const part of parts) part.start();
      for (const organization of (await organizationsById(store.read)).values()) recovery.add(organization);
    },
    async stop() {
      topic.stop();
      await Promise.all([recovery.stop(), ...parts.map((part) => part.stop())]);
      mailer.close();
    },
  };
}
