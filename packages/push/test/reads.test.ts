import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestStore, type TestStore } from '../../platform/test/support/test-store.js';
import { JOBS_AT_ONCE, MAX_PAGE_TEXT } from '../src/limits.js';
import { type Stage, UNLIMITED } from '../src/machine/stage.js';
import { outputStanding } from '../src/output.js';
import {
  findJob,
  type JobCursor,
  type JobFilter,
  jobNodeNames,
  jobsBeginning,
  listJobNodes,
  listJobs,
  nodeCounts,
  nodeStatuses,
  pageOfJobs,
  unfinishedJobs,
} from '../src/repository/reads.js';
import { savePushJob, savePushJobNode } from '../src/repository/writes.js';
import { jobId, jobNodeRow, jobRow, ORG, OTHER_ORG } from './support/push-rows.js';

let test: TestStore;

const stage = (hold: Stage['hold']): string => JSON.stringify({ ...UNLIMITED, hold });

beforeAll(async () => {
  test = await openTestStore();
  await test.store.transact(async (trx) => {
    await trx.insertInto('organizations').values({ id: ORG, name: 'default', created_at: 0 }).execute();
  });
  const job = (number: number, given: object) => savePushJob(jobRow({ id: jobId(number), ...given }));
  await test.store.commit([
    job(1, { created_at: 1000, status: 'complete', phase: 'finished', command: 'chef-client' }),
    job(2, { created_at: 2000, status: 'complete', phase: 'finished', command: 'chef-client -o x', requester: 'eve' }),
    job(3, { created_at: 3000, status: 'voting', phase: 'voting', command: '100%*' }),
    job(4, { created_at: 3000, status: 'running', phase: 'aborting', command: 'üx' }),
    job(5, { created_at: 9000, org_id: OTHER_ORG, status: 'complete', phase: 'finished' }),
    ...([null, 'pause', 'confirm', 'failures'] as const).map((hold, index) =>
      job(6 + index, { org_id: OTHER_ORG, status: 'running', phase: 'running', stage: stage(hold) }),
    ),
    job(10, { org_id: OTHER_ORG, status: 'running', phase: 'aborting', stage: stage('confirm') }),
    ...['A', 'B', 'C', 'D'].map((node, index) =>
      savePushJobNode(jobNodeRow({ node, status: ['succeeded', 'failed', 'crashed', 'failed'][index] ?? '' })),
    ),
    savePushJobNode(jobNodeRow({ job_id: jobId(3), node: 'B', status: 'new' })),
  ]);
});
afterAll(() => test.close());

async function list(filter: JobFilter): Promise<string[]> {
  return (await listJobs(test.store.read, ORG, filter, { limit: 10 })).map((row) => row.id);
}

const numbered = (...numbers: number[]): string[] => numbers.map(jobId);

describe('jobs', () => {
  it('are found within their organization only', async () => {
    expect(await findJob(test.store.read, ORG, jobId(1))).toEqual(
      jobRow({ id: jobId(1), created_at: 1000, status: 'complete', phase: 'finished' }),
    );
    expect(await findJob(test.store.read, OTHER_ORG, jobId(1))).toBeUndefined();
  });

  it('are found by the beginning of their id, within their organization only', async () => {
    const found = async (beginning: string, limit = 10) =>
      (await jobsBeginning(test.store.read, ORG, beginning, limit)).map(({ id }) => id);
    expect(await found('0000')).toEqual(numbered(1, 2, 3, 4));
    expect(await found('0000', 2)).toEqual(numbered(1, 2));
    expect(await found(jobId(3))).toEqual(numbered(3));
    expect(await found(jobId(5))).toEqual([]);
    expect(await found('0001')).toEqual([]);
  });

  it('are listed newest first', async () => expect(await list({})).toEqual(numbered(3, 4, 2, 1)));

  it.each<[string, JobFilter, number[]]>([
    ['status', { statuses: ['voting', 'running'] }, [3, 4]],
    ['command', { command: 'chef-client' }, [1]],
    ['the beginning of a command', { command: 'chef*' }, [2, 1]],
    ['a beginning that is not ASCII', { command: 'ü*' }, [4]],
    ['a beginning that looks like a pattern', { command: '100%*' }, [3]],
    ['every command', { command: '*' }, [3, 4, 2, 1]],
    ['requester', { requester: 'eve' }, [2]],
    ['node', { node: 'B' }, [3, 1]],
    ['time', { createdAfter: 1000, createdBefore: 3000 }, [2]],
    ['several things', { statuses: ['complete'], node: 'A', createdBefore: 2000 }, [1]],
  ])('are filtered by %s', async (_what, filter, numbers) => expect(await list(filter)).toEqual(numbered(...numbers)));

  it('are filtered by whether they wait to be continued', async () => {
    const found = async (...statuses: string[]) =>
      (await listJobs(test.store.read, OTHER_ORG, { statuses }, { limit: 10 })).map(({ id }) => id).sort();
    expect(await found('held')).toEqual(numbered(8, 9));
    expect(await found('held', 'complete')).toEqual(numbered(5, 8, 9));
    expect(await found('running')).toEqual(numbered(6, 7, 8, 9, 10));
  });

  it('come in pages without gaps or repetitions, also among jobs of one millisecond', async () => {
    const seen: string[] = [];
    for (let after: { createdAt: number; id: string } | undefined; ; ) {
      const page = await listJobs(test.store.read, ORG, {}, { limit: 1, ...(after === undefined ? {} : { after }) });
      const row = page[0];
      if (row === undefined) break;
      seen.push(row.id);
      after = { createdAt: row.created_at, id: row.id };
    }
    expect(seen).toEqual(numbered(3, 4, 2, 1));
  });

  it('are counted by the status of their nodes, also more of them than one query takes', async () => {
    const strangers = Array.from({ length: JOBS_AT_ONCE }, (_, index) => jobId(1000 + index));
    const counts = await nodeCounts(test.store.read, [jobId(1), ...strangers, jobId(2), jobId(3)]);
    expect(counts).toEqual(
      new Map([
        [jobId(1), { succeeded: 1, failed: 2, crashed: 1 }],
        [jobId(3), { new: 1 }],
      ]),
    );
    expect(await nodeCounts(test.store.read, [])).toEqual(new Map());
  });

  it('of great size come in shorter pages', async () => {
    const orgId = 'e'.repeat(32);
    const created = { org_id: orgId, status: 'complete', phase: 'finished' } as const;
    const large = { options: { file: `raw:${'x'.repeat(MAX_PAGE_TEXT / 2)}` } };
    await test.store.commit(
      [11, 12, 13, 14].map((number) => savePushJob(jobRow({ id: jobId(number), ...created }, large))),
    );
    const page = async (limit: number, after?: JobCursor) => {
      const { rows, more } = await pageOfJobs(test.store.read, orgId, {}, { limit, after });
      return [rows.map((row) => row.id), more];
    };
    expect(await page(10)).toEqual([numbered(11, 12), true]);
    const after = { createdAt: jobRow().created_at, id: jobId(12) };
    expect(await page(10, after)).toEqual([numbered(13, 14), false]);
    expect(await page(1, after)).toEqual([numbered(13), true]);
    expect(await page(2, after)).toEqual([numbered(13, 14), false]);
  });

  it('that are unfinished are found with their nodes at start-up', async () => {
    const unfinished = await unfinishedJobs(test.store.read);
    expect(unfinished.map(({ org, job, nodes }) => [org.name, job.id, nodes.map(({ node }) => node)])).toEqual([
      ['default', jobId(3), ['B']],
      ['default', jobId(4), []],
    ]);
  });
});

describe('job-nodes', () => {
  it('are listed by name, filtered by status, in pages', async () => {
    const names = async (statuses: string[] | undefined, limit: number, after?: string): Promise<string[]> => {
      const filter = statuses === undefined ? {} : { statuses };
      const page = { limit, ...(after === undefined ? {} : { after }) };
      return (await listJobNodes(test.store.read, jobId(1), filter, page)).map((row) => row.node);
    };
    expect(await names(undefined, 10)).toEqual(['A', 'B', 'C', 'D']);
    expect(await names(['failed'], 1)).toEqual(['B']);
    expect(await names(['failed'], 1, 'B')).toEqual(['D']);
  });

  it('of an earlier job are found by status (Push Jobs §1.1)', async () => {
    expect(await jobNodeNames(test.store.read, jobId(1), ['failed', 'crashed'])).toEqual(['B', 'C', 'D']);
  });

  it('show their status by name', async () => {
    expect((await nodeStatuses(test.store.read, jobId(1)))[0]).toEqual({ node: 'A', status: 'succeeded' });
  });
});

describe('what is known of a node’s output', () => {
  const job = { id: jobId(20), capture: true };

  it.each([
    ['a node that has not started', { status: 'ready' }, { ended: false, running: false }],
    ['a node that runs', { status: 'running', stdout_bytes: 3 }, { written: { stdout: 3, stderr: null } }],
    ['a node that has finished', { status: 'succeeded' }, { ended: true, running: false, missing: null }],
    ['a node that crashed', { status: 'crashed', output_missing: 'gone' }, { ended: true, missing: 'gone' }],
  ])('is told of %s', async (name, given, expected) => {
    await test.store.commit([savePushJobNode(jobNodeRow({ job_id: job.id, node: name, ...given }))]);
    expect(await outputStanding(test.store.read, job, name)).toMatchObject({ captured: true, ...expected });
  });

  it.each(['unknown', 'with\0NUL'])('is nothing of the node %j, which is not part of the job', async (name) => {
    expect(await outputStanding(test.store.read, job, name)).toBeUndefined();
  });
});
