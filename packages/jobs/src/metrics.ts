import type { Broker } from '@muster/broker';
import { type Recorder, typeOfOwn } from '@muster/platform/log';
import type { Metrics } from '@muster/platform/metrics';
import { JOB_EVENTS } from './event-types.js';
import { STATUSES } from './status.js';
import type { JobWorkers } from './worker/layer.js';

export interface JobMetricsDeps {
  readonly recorder: Pick<Recorder, 'onStored'>;
  readonly broker: Pick<Broker, 'status'>;
  readonly workers: Pick<JobWorkers, 'workers'>;
}

/** The series of jobs, of all processes that record in this database. Returns how to stop counting. */
export function countJobs(metrics: Metrics, { recorder, broker, workers }: JobMetricsDeps): () => void {
  const { prefix } = JOB_EVENTS;
  const came = metrics.counter('muster_job_status_total', 'Jobs that came to a status', ['status']);
  for (const status of STATUSES) came.inc({ status }, 0);
  metrics.gauge('muster_job_slots_busy', 'Jobs that this process works on', [], (gauge) => {
    gauge.set(workers.workers.reduce((sum, worker) => sum + worker.running, 0));
  });
  metrics.gauge('muster_job_broker_up', '1: the broker of jobs is connected and takes messages', [], (gauge) => {
    gauge.set(broker.status().connected ? 1 : 0);
  });
  return recorder.onStored((events) => {
    for (const { recorded, subject } of events) {
      if (subject === null || !subject.startsWith('job/')) continue;
      came.inc({ status: typeOfOwn(recorded).slice(prefix.length).toUpperCase() });
    }
  });
}
