import { forgetLease, type Store, upsert } from '@muster/store';
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

export function saveWorker(store: Store, row: WorkerRow): Promise<void> {
  return store.commit([save(row)]);
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
