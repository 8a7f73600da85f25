import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster } from './support/cluster.js';
import { JobHosts } from './support/job-hosts.js';
import { type Job, jobComesTo, timesRun } from './support/jobs.js';
import { neverHarmed } from './support/unharmed.js';
import { until } from './support/until.js';

/** Whole jobs where jobs run elsewhere: on a host by SSH, on Slurm by SSH, on a node of our own by a queue. All of them real. */

const RUN_JOB = fileURLToPath(new URL('../examples/plugins/shell/run-job.sh', import.meta.url));

let cluster: Cluster;
let hosts: JobHosts;
beforeAll(async () => {
  [cluster, hosts] = await Promise.all([Cluster.start(), JobHosts.start()]);
  for (const name of ['home', 'rack']) mkdirSync(at(name));
  writeFileSync(join(at('home'), 'query.txt'), 'two\none\n');
  const args = [at('rack'), '{script}', '{job}', '{stdout}', '{stderr}'];
  await cluster.startAgents({ n1: { tasks: { max: 2, plugins: { 'run-job': { program: RUN_JOB, args } } } } });
  await made('queue', 'create', 'render', '--plugin', 'run-job');
  await made('system', 'create', 'home', '--type', 'local', '--root', at('home'), '--default');
  await hosts.register(cluster);
  await made('system', 'create', 'rack', '--type', 'tasks', '--queue', 'render', '--root', at('rack'));
  writeFileSync(at('sort.json'), JSON.stringify(SORT));
  await made('app', 'create', '--file', at('sort.json'));
});
neverHarmed(() => cluster);
afterAll(async () => {
  await Promise.all([cluster?.stop(), hosts?.remove()]);
});

const at = (name: string): string => join(cluster.dir, name);

const SORT = {
  name: 'sort',
  version: '1.0',
  template: `echo "$MUSTER_JOB" >> "$runs"
echo $$ > "$runs-$MUSTER_JOB"
echo "sorting $query"
if [ -n "$go" ]; then until [ -e "$go" ]; do sleep 0.05; done; fi
sort "$query" > sorted.txt
`,
  inputs: [{ id: 'query', value: { required: true } }],
  parameters: [
    { id: 'runs', value: { type: 'string', required: true } },
    { id: 'go', value: { type: 'string', required: false } },
  ],
};

async function made(...args: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await cluster.muster(...args);
  expect(code, `muster ${args.join(' ')}\n${stdout}${stderr}`).toBe(0);
}

const job = (system: string, ...more: readonly string[]): Promise<Job> =>
  cluster.json<Job>(
    ...['job', 'run', 'sort-1.0', '--system', system, '--input', 'query=agave://home/query.txt'],
    ...['--param', `runs=${at('runs')}`, ...more],
  );

describe.each([
  ['a host by SSH', 'host'],
  ['Slurm by SSH', 'hpc'],
  ['a queue of our own nodes', 'rack'],
])('on %s', (_, system) => {
  test('a job is staged, run once, followed and archived', async () => {
    const done = await job(system, '--archive-path', `kept/${system}`, '--wait');
    expect(done.status).toBe('FINISHED');
    expect(timesRun(at('runs'), done.id)).toBe(1);
    expect(readFileSync(join(at('home'), `kept/${system}/sorted.txt`), 'utf8')).toBe('one\ntwo\n');
    const { stdout } = await cluster.muster('job', 'output', done.id, 'sorted.txt');
    expect(stdout).toBe('one\ntwo\n');
  });

  test('one that runs shows what it has written, is cancelled, and runs no more', async () => {
    const go = at(`go-${system}`);
    const { id } = await job(system, '--param', `go=${go}`);
    await jobComesTo(cluster, id, 'RUNNING');
    const written = async () => (await cluster.muster('job', 'output', id)).stdout;
    await until('its output to be listed', async () => /\d+B .*sort-.*\.out$/m.test(await written()));
    const cancelled = await cluster.muster('job', 'cancel', id, '--wait');
    expect([cancelled.code, cancelled.stderr]).toEqual([0, expect.stringContaining(`job ${id} STOPPED`)]);
    const pid = readFileSync(at(`runs-${id}`), 'utf8').trim();
    await until('its program to be gone', async () => !existsSync(`/proc/${pid}`));
    expect(timesRun(at('runs'), id)).toBe(1);
  });
});
