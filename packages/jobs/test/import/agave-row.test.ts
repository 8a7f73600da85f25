import { describe, expect, it } from 'vitest';
import { readOldJob } from '../../src/import/agave-row.js';

const ORG = { id: 'a'.repeat(32), name: 'acme' };
const read = (row: unknown) => readOldJob(row, ORG);

/** As a dump of the database of Aloe has it. */
const ALOE = {
  id: 17,
  uuid: '6608339759546166810-242ac114-0001-007',
  update_token: 'x',
  name: 'blast',
  tenant_id: 'portals',
  tenant_queue: 'aloe.jobq.portals.submit.DefaultQueue',
  status: 'FINISHED',
  last_message: 'done',
  accepted: '2019-03-31 12:00:00.123456',
  created: '2019-03-31 12:00:01',
  ended: '2019-03-31 13:00:00',
  last_updated: '2019-03-31 13:00:00',
  owner: 'jdoe',
  system_id: 'hpc1',
  app_id: 'blast-1.0',
  app_uuid: 'u-005',
  archive: 1,
  archive_path: 'archive/jobs/1',
  node_count: 2,
  processor_count: 4,
  memory_gb: '1.5',
  max_hours: 2.5,
  inputs: '{"query":"agave://data/q.fasta"}',
  parameters: '{"evalue":0.1}',
  remote_job_id: '991',
  visible: 0,
};

describe('rows of jobs', () => {
  it('of Aloe, as columns name them', () => {
    const { job, history } = read(ALOE);
    expect(job).toMatchObject({
      uuid: ALOE.uuid,
      orgId: ORG.id,
      tenant: 'acme',
      status: 'FINISHED',
      accepted: Date.UTC(2019, 2, 31, 12, 0, 0, 123),
      ended: Date.UTC(2019, 2, 31, 13),
      archive: true,
      memoryMb: 1536,
      maxSeconds: 9000,
      processorsPerNode: 4,
      inputs: { query: 'agave://data/q.fasta' },
      parameters: { evalue: 0.1 },
      visible: false,
    });
    expect(history).toEqual([{ status: 'FINISHED', at: Date.UTC(2019, 2, 31, 13), by: 'jdoe', description: 'done' }]);
  });

  it('of Agave, as its answers name them, with history', () => {
    const { job, history } = read({
      id: '123-007',
      name: 'wc',
      owner: 'anna',
      softwareName: 'wc-1.0',
      executionSystem: 'here',
      batchQueue: 'normal',
      status: 'KILLED',
      created: '2016-01-02T03:04:05.000-06:00',
      endTime: 1_451_800_000_000,
      maxRunTime: '02:30:00',
      localJobId: '7',
      archiveOutput: false,
      retries: 3,
      history: [
        {
          status: 'PENDING',
          created: '2016-01-02 03:04:05',
          createdBy: 'anna',
          description: 'Job accepted\nand queued.',
        },
        { status: 'ARCHIVING_FAILED', created: '2016-01-02 03:05:05', description: '' },
      ],
    });
    expect(job).toMatchObject({
      appId: 'wc-1.0',
      systemId: 'here',
      remoteQueue: 'normal',
      status: 'STOPPED',
      accepted: Date.UTC(2016, 0, 2, 9, 4, 5),
      ended: 1_451_800_000_000,
      maxSeconds: 9000,
      remoteJobId: '7',
      archive: false,
      submitRetries: 3,
    });
    expect(history.map(({ status, by }) => [status, by])).toEqual([
      ['PENDING', 'anna'],
      ['ARCHIVING_FAILED', 'anna'],
    ]);
  });

  it.each([
    [7, 'job: must be a JSON object'],
    [{ ...ALOE, uuid: '../x' }, 'job.uuid: must be the uuid'],
    [{ ...ALOE, status: 'RUNNING' }, 'job.status: is RUNNING: only jobs that have ended'],
    [{ ...ALOE, status: '__proto__' }, 'job.status: is __proto__'],
    [{ ...ALOE, owner: null }, 'job.owner: it is missing'],
    [{ ...ALOE, ended: 'yesterday' }, 'job.ended: must be a time'],
    [{ ...ALOE, archive: 2 }, 'job.archive: must be true or false'],
    [{ ...ALOE, node_count: -1 }, 'job.node_count: must be a whole number'],
    [{ ...ALOE, inputs: '[1' }, 'job.inputs: must be a JSON object'],
    [{ ...ALOE, inputs: '[]' }, 'job.inputs: must be a JSON object'],
    [{ ...ALOE, max_hours: null, requested_time: '1h' }, 'job.requested_time: must be a time'],
    [{ ...ALOE, history: [{ status: 'x', created: 0 }] }, 'job.history.0.status: must be a status'],
    [{ ...ALOE, history: [{ status: 'FAILED' }] }, 'job.history.0.created: it is missing'],
  ])('that are wrong are refused by field: %o', (row, problem) => {
    expect(() => read(row)).toThrow(problem);
  });
});
