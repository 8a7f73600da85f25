import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CliResult, Cluster } from './support/cluster.js';
import { type Job, jobComesTo, showJob, timesRun as timesRunIn } from './support/jobs.js';
import { neverHarmed } from './support/unharmed.js';
import { until } from './support/until.js';

/** Issue §1 and §9.1: what a person types for jobs, on a server that has just been installed and has everything in its own process. */

let cluster: Cluster;
beforeAll(async () => {
  cluster = await Cluster.start();
  mkdirSync(join(at('work'), 'in'), { recursive: true });
  writeFileSync(join(at('work'), 'in/query.txt'), 'one\ntwo\n');
  writeFileSync(at('sort.json'), JSON.stringify(SORT));
});
neverHarmed(() => cluster);
afterAll(() => cluster.stop());

const at = (name: string): string => join(cluster.dir, name);

/** As Agave describes an app. It says that it was run, and waits where it is told to. */
const SORT = {
  name: 'sort',
  version: '1.0',
  shortDescription: 'Sorts lines',
  executionType: 'CLI',
  template: `#!/bin/sh
echo "$MUSTER_JOB" >> "$runs"
echo "sorting $query"
if [ -n "$go" ]; then until [ -e "$go" ]; do sleep 0.05; done; fi
sort $direction "$query" > sorted.txt
echo sorted
`,
  inputs: [{ id: 'query', value: { required: true }, details: { label: 'Lines' } }],
  parameters: [
    { id: 'direction', value: { type: 'enumeration', enum_values: ['-r'], required: false } },
    { id: 'runs', value: { type: 'string', required: true } },
    { id: 'go', value: { type: 'string', required: false } },
  ],
};

/** A line as a person types it; words of more than one in quotes. */
const words = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');

const muster = (line: string): Promise<CliResult> => cluster.muster(...words(line));

/** What one that goes well prints. */
async function said(line: string): Promise<string> {
  const { code, stdout, stderr } = await muster(line);
  expect([code, stderr], `muster ${line}\n${stdout}`).toEqual([0, expect.any(String)]);
  return stdout;
}

const run = (flags: string): string =>
  `job run sort-1.0 --input query=in/query.txt --param runs=${at('runs')} ${flags}`;

const timesRun = (id: string): number => timesRunIn(at('runs'), id);
const show = (id: string): Promise<Job> => showJob(cluster, id);
const comesTo = (id: string, status: string): Promise<unknown> => jobComesTo(cluster, id, status);

describe('from a fresh server', () => {
  let first: string;

  test('systems and an app are described, and a job runs to its end with what it made archived', async () => {
    expect(await said(`system create here --type local --root ${at('work')} --default`)).toBe('created system here\n');
    writeFileSync(at('key'), '-----BEGIN OPENSSH PRIVATE KEY-----\nnone\n-----END OPENSSH PRIVATE KEY-----\n');
    const hpc = `system create hpc1 --type ssh --host login1.example.com --user jobs --key ${at('key')}`;
    const made = await muster(`${hpc} --scheduler slurm --root /scratch/jobs`);
    expect([made.code, made.stdout]).toEqual([0, 'created system hpc1\n']);
    expect(made.stderr).toContain('muster system set hpc1 --host-key');
    await said('queue create render --plugin command');
    expect(await said('system create rack --type tasks --queue render --root /shared/jobs')).toContain('rack');
    expect(await said(`app create --file ${at('sort.json')}`)).toBe('sort-1.0\n');

    const ended = await cluster.json<Job>(...words(run('--param direction=-r --archive-path kept/first --wait')));
    expect(ended).toMatchObject({ status: 'FINISHED', archivePath: 'kept/first' });
    first = ended.id;
    expect(timesRun(first)).toBe(1);
    expect(readFileSync(join(at('work'), 'kept/first/sorted.txt'), 'utf8')).toBe('two\none\n');
  });

  test('what became of it is listed, shown, told and fetched', async () => {
    const [listed, none, shown, history, why, files, sorted] = await Promise.all(
      [
        `job list 'status:FINISHED AND owner:admin'`,
        `job list 'status:BLOCKED AND owner:jdoe'`,
        ...['show', 'history', 'why', 'output'].map((what) => `job ${what} ${first}`),
        `job output ${first} sorted.txt`,
      ].map(muster),
    );
    expect(listed?.stdout).toMatch(new RegExp(`^${first} +FINISHED +sort-1.0 +here +admin`, 'm'));
    expect([none?.code, none?.stderr]).toEqual([0, 'no job is like that\n']);
    expect(shown?.stdout).toMatch(/^Archive +here:kept\/first$/m);
    const statuses = history?.stdout.split('\n').flatMap((line) => line.split(/ {2,}/)[1] ?? []);
    expect(statuses).toEqual([
      ...[
        'Status',
        'ACCEPTED',
        'PENDING',
        'PROCESSING_INPUTS',
        'STAGING_INPUTS',
        'STAGED',
        'STAGING_JOB',
        'SUBMITTING',
      ],
      ...['QUEUED', ...(statuses?.includes('RUNNING') ? ['RUNNING'] : []), 'CLEANING_UP', 'ARCHIVING', 'FINISHED'],
    ]);
    expect(why?.stdout).toMatch(/^It is FINISHED \(NORMAL_COMPLETION\)/);
    expect(files?.stdout).toMatch(/^8B .*sorted\.txt$/m);
    expect(sorted?.stdout).toBe('two\none\n');
  });

  test('a job is followed while it runs, and cancelled: nothing of it runs any more', async () => {
    const followed = cluster.launch('job run', words(run(`--param go=${at('go')} --follow`)));
    followed.closeInput();
    await followed.logged(/sorting/);
    writeFileSync(at('go'), '');
    expect((await followed.exited).code, followed.log).toBe(0);
    expect(followed.stdout).toBe('sorting query.txt\nsorted\n');

    const id = (await said(run(`--param go=${at('never')}`))).trim();
    await comesTo(id, 'RUNNING');
    const cancelled = await muster(`job cancel ${id} --wait`);
    expect([cancelled.code, cancelled.stdout]).toEqual([0, expect.stringContaining('JOBS_JOB_CANCEL_ACCEPTED')]);
    expect(cancelled.stderr).toContain(`job ${id} STOPPED`);
    expect((await show(id)).status).toBe('STOPPED');
    await until('its program to end', () => cluster.commands().length === 0);
    const again = await muster(`job cancel ${id}`);
    expect(again.code).toBe(1);
  });

  test('a job runs on the system that is named for it, unless there is none or its app names another', async () => {
    await said(`system create there --type local --root ${at('there')}`);
    const onThere = '--system there --no-archive --wait';
    const { id, status, systemId, workPath } = await cluster.json<Job>(...words(run(onThere)));
    expect([status, systemId, timesRun(id)]).toEqual(['FINISHED', 'there', 1]);
    expect(workPath.startsWith(`${at('there')}/`)).toBe(true);
    expect(readFileSync(join(workPath, 'sorted.txt'), 'utf8')).toBe('one\ntwo\n');
    expect(await said(`job show ${id}`)).toMatch(/^System +there$/m);

    writeFileSync(at('own.json'), JSON.stringify({ ...SORT, name: 'own', executionSystem: 'here' }));
    expect(await said(`app create --file ${at('own.json')}`)).toBe('own-1.0\n');
    const refused = [await muster(run('--system nowhere')), await muster(run(onThere).replace('sort-1.0', 'own-1.0'))];
    expect(refused.map(({ code, stdout }) => [code, stdout])).toEqual([
      [2, ''],
      [2, ''],
    ]);
    expect(refused[0]?.stderr).toContain("executionSystem: there is no system 'nowhere', on which it would run");
    expect(refused[1]?.stderr).toContain('executionSystem: app own-1.0 runs on here: leave it out');
    const known = await cluster.json<Job[]>(...words(`job list 'name:sort OR name:own'`));
    expect(known.filter((job) => job.systemId === 'there').map((job) => job.id)).toEqual([id]);
    expect(known.filter((job) => job.appId === 'own-1.0')).toEqual([]);
  });

  test('it is submitted again as another, hidden and shown again, and shared', async () => {
    const again = (await said(`job resubmit ${first} --wait`)).trim();
    expect(again).not.toBe(first);
    expect([timesRun(first), timesRun(again)]).toEqual([1, 1]);
    await said(`job hide ${again}`);
    const ids = async (flags = ''): Promise<string[]> =>
      (await cluster.json<Job[]>(...words(`job list 'name:sort AND status:FINISHED' ${flags}`))).map(({ id }) => id);
    expect(await ids()).not.toContain(again);
    expect(await ids('--hidden')).toEqual([again]);
    await said(`job unhide ${again}`);
    expect(await ids()).toContain(again);

    await said(`user create anna --key-out ${at('anna.pem')}`);
    writeFileSync(at('anna.yaml'), JSON.stringify({ url: cluster.url, user: 'anna', key: at('anna.pem') }));
    const asAnna = async (): Promise<number | null> => {
      const asked = cluster.launch('anna', words(`job show ${first}`), { MUSTER_CONFIG: at('anna.yaml') });
      asked.closeInput();
      return (await asked.exited).code;
    };
    expect(await asAnna()).toBe(3);
    expect(await said(`job share ${first} --user anna --permission READ`)).toBe('anna: READ\n');
    expect(await asAnna()).toBe(0);
  });

  test('queues are described in a file, tested with a request, and work at once', async () => {
    const queue = { name: 'aloe.jobq.default.submit.big', tenantId: 'default', priority: 5, filter: 'nodeCount > 3' };
    writeFileSync(at('queues.json'), JSON.stringify([queue]));
    const job = { name: 'big', appId: 'sort-1.0', nodeCount: 4, archivePath: '', inputs: { query: 'in/query.txt' } };
    writeFileSync(at('job.json'), JSON.stringify({ ...job, parameters: { runs: at('runs') } }));
    expect(await said(`job-queue apply -f ${at('queues.json')}`)).toBe('big: priority 5\n');
    expect(await said('job-queue list')).toMatch(/^big +5 .*nodeCount > 3$/m);
    // Its worker begins before its first job.
    await expect.poll(() => said('job-queue stats')).toMatch(/^big +0 +0 +[1-9]/m);
    const tested = await said(`job-queue test ${at('job.json')}`);
    expect(tested).toMatch(/^big +5 +yes +nodeCount > 3 +nodeCount=4$/m);
    expect(tested).toContain('It goes to big.');
    const id = (await said(`job submit -f ${at('job.json')}`)).trim();
    await comesTo(id, 'FINISHED');
    expect(await cluster.json('job', 'show', id)).toMatchObject({ tenantQueue: queue.name });
    const stats = await cluster.json<{ name: string; ready: number; held: number }[]>(...words('job-queue stats'));
    expect(stats.find(({ name }) => name === queue.name)).toMatchObject({ ready: 0, held: 0, jobs: {} });
  });

  test('what blocks a job is told, tested when somebody asks for it, and then it goes on', async () => {
    expect((await muster('recovery list')).stderr).toBe('no job is blocked\n');
    await said('system disable here');
    const id = (await said(run(''))).trim();
    await comesTo(id, 'BLOCKED');
    expect(await said(`job why ${id}`)).toMatch(/SYSTEM_NOT_AVAILABLE/);
    const [record] = await cluster.json<{ id: string; condition: string; jobs: number }[]>('recovery', 'list');
    expect(record).toMatchObject({ condition: 'SYSTEM_NOT_AVAILABLE', jobs: 1 });
    await said('system enable here');
    expect(await said(`recovery show ${record?.id}`)).toContain(id);
    await said(`recovery test-now ${record?.id}`);
    await comesTo(id, 'FINISHED');
    expect(timesRun(id)).toBe(1);
  });
});
