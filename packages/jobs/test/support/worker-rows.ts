import type { Clock } from '@muster/base';
import { namesOf } from '@muster/broker';
import type { Organization } from '@muster/platform/auth';
import type { Recorder } from '@muster/platform/log';
import { Leases, type Store } from '@muster/store';
import { leaseName } from '../../src/worker/tenure.js';
import { saveWorker, type WorkerRow } from '../../src/worker/worker-rows.js';

export interface Place {
  readonly store: Store;
  readonly clock: Clock;
  readonly recorder: Recorder;
  readonly org: Organization;
}

type GivenWorker = Pick<WorkerRow, 'uuid' | 'name' | 'state'> & Partial<WorkerRow>;

/** Stores a worker as it would store itself. @param holds Its lease: it lives. */
export async function addWorker({ store, clock, recorder, org }: Place, given: GivenWorker, holds: boolean) {
  const queue = `${namesOf(org.name).submitPrefix}DefaultQueue`;
  const row = { org_id: org.id, host: 'h', queue, slots: 4, started: clock.now(), version: '1', ...given };
  await saveWorker(recorder, org.name, row);
  if (holds) await new Leases({ store, clock, holder: given.uuid }).acquire(leaseName(given.uuid), 60_000);
}
