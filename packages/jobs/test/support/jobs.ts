import type { ManualClock } from '@muster/base';
import type { Recorder } from '@muster/platform/log';
import type { Store } from '@muster/store';
import { openRecorder } from '../../../platform/test/support/recorder.js';
import { openTestStore, type TestStore } from '../../../platform/test/support/test-store.js';
import { JobStore } from '../../src/repository/job-store.js';
import type { ActiveStatus } from '../../src/status.js';
import type { Job } from '../../src/types.js';

export const ORG = { id: 'o1', name: 'portals' } as const;
export const QUEUE = 'aloe.jobq.portals.submit.DefaultQueue';

/** A job as it is accepted, but for what is given. */
export function newJob(uuid: string, given: Partial<Job> = {}): Job {
  return {
    uuid,
    orgId: ORG.id,
    tenant: ORG.name,
    name: 'demo',
    owner: 'jdoe',
    roles: null,
    queue: QUEUE,
    appId: 'wc-1.0',
    appUuid: 'a1',
    systemId: 'hpc1',
    archive: false,
    archiveOnAppError: false,
    archiveSystem: null,
    archivePath: null,
    remoteQueue: null,
    nodeCount: 1,
    processorsPerNode: 1,
    memoryMb: 1024,
    maxSeconds: 3600,
    inputs: {},
    parameters: {},
    request: '{}',
    accepted: 1000,
    status: 'ACCEPTED',
    resumeAt: null,
    blockedCount: 0,
    created: null,
    remoteSubmitted: null,
    remoteStarted: null,
    ended: null,
    condition: null,
    lastMessage: 'JOBS_ACCEPTED Job accepted for processing.',
    lastUpdated: 1000,
    workPath: null,
    remoteJobId: null,
    schedulerJobId: null,
    remoteEnded: null,
    remoteOutcome: null,
    remoteCondition: null,
    remoteDetail: null,
    exitCode: null,
    submitRetries: 0,
    statusChecks: 0,
    failedChecks: 0,
    lastCheck: null,
    visible: true,
    wanted: null,
    worker: null,
    epoch: 0,
    subscriptions: 0,
    ...given,
  };
}

/** The statuses on the way to one, in their order. */
const WAY: readonly ActiveStatus[] = [
  'PENDING',
  'PROCESSING_INPUTS',
  'STAGING_INPUTS',
  'STAGED',
  'STAGING_JOB',
  'SUBMITTING',
  'QUEUED',
  'RUNNING',
  'CLEANING_UP',
  'ARCHIVING',
];

/** Jobs in a real store. */
export class JobFixture {
  readonly test: TestStore;
  readonly recorder: Recorder;
  readonly jobs: JobStore;
  #ids = 0;

  constructor(test: TestStore, recorder: Recorder) {
    this.test = test;
    this.recorder = recorder;
    this.jobs = new JobStore({ store: test.store, recorder, clock: test.clock, nextId: () => this.nextId() });
  }

  get store(): Store {
    return this.test.store;
  }

  get clock(): ManualClock {
    return this.test.clock;
  }

  nextId(): string {
    this.#ids += 1;
    return String(this.#ids).padStart(12, '0');
  }

  /** Accepted, and come as far as this status. */
  async job(uuid: string, status: ActiveStatus | 'ACCEPTED' = 'PENDING', given: Partial<Job> = {}): Promise<Job> {
    await this.jobs.add(newJob(uuid, { accepted: this.clock.now(), ...given }), null);
    let job = await this.read(uuid);
    if (status === 'ACCEPTED') return job;
    for (const to of WAY.slice(0, WAY.indexOf(status) + 1)) job = await this.jobs.change(job, { to });
    return job;
  }

  async read(uuid: string): Promise<Job> {
    const job = await this.jobs.find(uuid);
    if (job === null) throw new Error(`no job ${uuid}`);
    return job;
  }

  /** What its history says, oldest first. */
  async history(uuid: string): Promise<readonly string[]> {
    const rows = await this.store.read
      .selectFrom('job_history')
      .select(['event', 'description'])
      .where('uuid', '=', uuid)
      .orderBy('id')
      .execute();
    return rows.map(({ event, description }) => `${event}: ${description}`);
  }

  close(): Promise<void> {
    return this.test.close();
  }
}

export async function openJobs(): Promise<JobFixture> {
  const test = await openTestStore();
  await test.store.transact((trx) =>
    trx
      .insertInto('organizations')
      .values({ ...ORG, created_at: 0 })
      .execute(),
  );
  return new JobFixture(test, await openRecorder(test.store, test.clock));
}
