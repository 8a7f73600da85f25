import type { Metrics } from '@muster/platform/metrics';
import type { JobState, Tally } from './machine/job-machine.js';
import type { PushCounts } from './ports.js';
import { FINAL_PUSH_JOB_NODE_STATUSES, FINAL_PUSH_JOB_STATUSES, type PushJobPhase } from './types.js';

/** What the gauges read of an unfinished job. */
export interface CountedJob {
  readonly state: Pick<JobState, 'phase'>;
  readonly tally: Tally;
}

const PHASES = ['new', 'voting', 'running', 'aborting'] as const satisfies readonly Exclude<PushJobPhase, 'finished'>[];
/** The tally of a job, but what has ended. */
const STANDINGS = ['new', 'waiting', 'ready', 'starting', 'running'] as const satisfies readonly (keyof Tally)[];
/** Seconds: from a command that answers at once to one that runs for a day. */
const DURATIONS = [1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400];

/** The series of the push layer. Every label value is there from the start, so that the first failure is an increase. */
export function createPushMetrics(metrics: Metrics, unfinished: () => Iterable<CountedJob>): PushCounts {
  metrics.gauge('muster_push_jobs', 'Unfinished push jobs of this server', ['phase'], (gauge) => {
    for (const phase of PHASES) gauge.set({ phase }, 0);
    for (const { state } of unfinished()) if (state.phase !== 'finished') gauge.inc({ phase: state.phase });
  });
  metrics.gauge(
    'muster_push_job_nodes',
    'Nodes of unfinished push jobs: without a vote (new), busy and waited for (waiting), waiting for their start (ready), told to start, running',
    ['standing'],
    (gauge) => {
      for (const standing of STANDINGS) gauge.set({ standing }, 0);
      for (const { tally } of unfinished()) for (const standing of STANDINGS) gauge.inc({ standing }, tally[standing]);
    },
  );
  const jobs = metrics.counter('muster_push_jobs_ended_total', 'Push jobs that ended', ['status']);
  const nodes = metrics.counter('muster_push_job_nodes_ended_total', 'Nodes whose part in a push job ended', [
    'status',
  ]);
  const durations = metrics.histogram(
    'muster_push_job_duration_seconds',
    'Push jobs from their creation to their end',
    DURATIONS,
  );
  for (const status of FINAL_PUSH_JOB_STATUSES) jobs.inc({ status }, 0);
  for (const status of FINAL_PUSH_JOB_NODE_STATUSES) nodes.inc({ status }, 0);
  return {
    jobEnded: (status, durationMs) => {
      jobs.inc({ status });
      durations.observe(durationMs / 1000);
    },
    jobNodeEnded: (status) => nodes.inc({ status }),
  };
}
