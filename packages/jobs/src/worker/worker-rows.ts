import type { Recorder } from '@muster/platform/log';
import { forgetLease, type Store, upsert } from '@muster/store';
import { WORKER_EVENTS } from '../event-types.js';
import '../repository/tables.js';
import { leaseName } from './tenure.js';

export type WorkerState = 'running' | 'quiescing' | 'suspended' | 'stopped';

/** A worker as others see it. */
export interface WorkerRow {
  readonly uuid: string;
  readonly org_id: string;
  readonly name: string;
  readonly host: string;
  readonly queue: string;
  readonly slots: number;
  readonly state: WorkerState;
  readonly started: number;
  readonly version: string;
}

const save = upsert(
  'job_workers',
  {
    uuid: 'text',
    org_id: 'text',
    name: 'text',
    host: 'text',
    queue: 'text',
    slots: 'integer',
    state: 'text',
    started: 'integer',
    version: 'text',
  },
  ['uuid'],
);

/** @param tenant Name of its organization. */
export function saveWorker(recorder: Pick<Recorder, 'commit'>, tenant: string, row: WorkerRow): Promise<void> {
  const { uuid, org_id: orgId, name, queue, state, host, slots } = row;
  const about = { worker: uuid, name, queue, state };
  const told = WORKER_EVENTS.tell('job_worker.changed', { id: orgId, name: tenant }, about, { host, slots });
  return recorder.commit([save(row)], [told]);
}

/** Those that began before this time and whose lease has ended: nobody asks for them any more. */
export async function forgetWorkers(store: Store, before: number): Promise<void> {
  await store.transact(async (trx) => {
    const rows = await trx
      .selectFrom('job_workers')
      .select('uuid')
      .where('started', '<', before)
      .limit(1_000)
      .execute();
    for (const { uuid } of rows) {
      if (!(await forgetLease(trx, leaseName(uuid), before))) continue;
      await trx.deleteFrom('job_workers').where('uuid', '=', uuid).execute();
    }
  });
}
