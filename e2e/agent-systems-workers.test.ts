import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Cluster } from './support/cluster.js';
import type { JobProcesses } from './support/job-processes.js';
import { JobsApart } from './support/jobs-apart.js';
import { neverHarmed } from './support/unharmed.js';
import { until } from './support/until.js';

/** A node as an execution system of workers in processes of their own: they come to it through the server, over RabbitMQ and HTTP. */

let apart: JobsApart;
let cluster: Cluster;
let processes: JobProcesses;

beforeAll(async () => {
  apart = await JobsApart.start();
  ({ cluster, processes } = apart);
  mkdirSync(join(at('allowed/lab'), 'in'), { recursive: true });
  writeFileSync(join(at('allowed/lab'), 'in/big'), BIG);
  writeFileSync(at('copy.json'), JSON.stringify(COPY));
  await cluster.startAgents({ web1: { systems: { roots: [at('allowed')], user: userInfo().username } } });
  await said('app', 'create', '--file', at('copy.json'));
  const lab = ['--type', 'agent', '--node', 'web1', '--root', at('allowed/lab'), '--default'];
  await said('system', 'create', 'lab', ...lab);
});
neverHarmed(() => apart);
afterAll(() => apart?.stop());

const at = (name: string): string => join(cluster.dir, name);

/** More than is on its way at one time. */
const BIG = randomBytes(30_000_000);

const COPY = {
  name: 'copy',
  version: '1.0',
  shortDescription: 'Copies a file',
  executionType: 'CLI',
  template: `#!/bin/sh
echo "$MUSTER_JOB" >> "$runs"
until [ -e "$go" ]; do sleep 0.05; done
cp "$big" copy
`,
  inputs: [{ id: 'big', value: { required: true }, details: { label: 'A file' } }],
  parameters: [
    { id: 'runs', value: { type: 'string', required: true } },
    { id: 'go', value: { type: 'string', required: true } },
  ],
};

async function said(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await cluster.muster(...words);
  expect([code, stderr], `muster ${words.join(' ')}\n${stdout}`).toEqual([0, expect.any(String)]);
  return stdout;
}

test('a job on a node goes on with another worker when its own is killed: its program runs once, its files are whole', async () => {
  await processes.start('w1', 'worker', '--name', 'w1');
  const words = ['--input', 'big=in/big', '--param', `runs=${at('runs')}`, '--param', `go=${at('go')}`];
  const id = (await said('job', 'run', 'copy-1.0', ...words, '--archive-path', 'kept')).trim();
  const status = async () => (await cluster.json<{ status: string }>('job', 'show', id)).status;
  const becomes = (wanted: string) =>
    until(`job ${id} to be ${wanted}`, async () => (await status()) === wanted, 60_000);
  const why = async () => (await cluster.json<{ why: string[] }>('job', 'why', id)).why.join();
  await becomes('RUNNING');
  const before = await why();

  await processes.kill('w1');
  await processes.start('w2', 'worker', '--name', 'w2');
  await until('the other worker to have it', async () => (await why()) !== before, 60_000);
  writeFileSync(at('go'), '');
  await becomes('FINISHED');
  expect(readFileSync(at('runs'), 'utf8')).toBe(`${id}\n`);
  expect(readFileSync(at('allowed/lab/kept/copy')).equals(BIG)).toBe(true);
  expect(await processes.stop()).toEqual([0]);
}, 240_000);
