import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from '@muster/base/version';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeRelease, newReleaseKey, type TestRelease } from '../packages/agent/test/support/release.js';
import { Cluster } from './support/cluster.js';
import { otherVersion, pretender } from './support/other-version.js';
import { commandLineOf, processesMarked } from './support/started-process.js';
import { until } from './support/until.js';

/** Agents that are upgraded by the server, on real processes; a release is signed as real ones are. */

const OLD = VERSION;
const NEW = '0.2.0';
/** Seconds, as installed: a node that is away for less than three of them is not down. */
const HEARTBEAT = 15;
const key = newReleaseKey();
const other = newReleaseKey();
/** Enough for a busy machine; and for those that never come back. */
const PATIENT = { upgrade: { key: key.publicKey, probation: 40 }, commands: { hello: 'echo hello' } };
const HASTY = { upgrade: { key: key.publicKey, probation: 2 } };
/** Of these, whether and how it ends is for the test to say. */
const SLOW = { upgrade: { key: key.publicKey, probation: 600 } };

let cluster: Cluster;
let good: string;

beforeAll(async () => {
  cluster = await Cluster.start({ heartbeatInterval: HEARTBEAT });
  const program = join(cluster.dir, 'slow.sh');
  writeFileSync(
    program,
    `#!/bin/sh\necho once >> '${runsFile()}'\nwhile [ ! -e '${goFile()}' ]; do sleep 0.05; done\n`,
  );
  chmodSync(program, 0o755);
  const tasks = { max: 2, plugins: { slow: { program, args: ['{name}'] } } };
  await cluster.startAgents({
    worker: { ...PATIENT, tasks },
    web: PATIENT,
    plain: {},
    late: HASTY,
    killed: SLOW,
    can1: HASTY,
    can2: HASTY,
  });
  expect((await cluster.muster('queue', 'create', 'slow', '--plugin', 'slow', '--threads', '1')).code).toBe(0);
  good = release('good', { program: otherVersion(join(cluster.dir, 'other'), NEW) });
}, 180_000);
afterAll(() => cluster.stop());

function release(name: string, made: Partial<TestRelease> & Pick<TestRelease, 'program'>): string {
  return makeRelease(join(cluster.dir, name), { version: NEW, key, ...made });
}

const runsFile = () => join(cluster.dir, 'runs');
const goFile = () => join(cluster.dir, 'go');

interface Upgraded {
  readonly code: number | null;
  readonly said: string;
}

async function upgrade(nodes: readonly string[], directory: string, ...flags: readonly string[]): Promise<Upgraded> {
  const to = ['--node', ...nodes, '--to', NEW, '--release', directory];
  const { code, stdout, stderr } = await cluster.muster('agent', 'upgrade', ...to, ...flags);
  return { code, said: stdout + stderr };
}

/** As the server knows it. */
async function versionOf(node: string): Promise<string | undefined> {
  const { stdout } = await cluster.muster('node', 'list', `name:${node}`, '--columns', 'agent_version', '--csv');
  return stdout.trim().split('\n')[1]?.trim();
}

async function runs(node: string, version: string): Promise<void> {
  await until(`${node} to run ${version}`, async () => (await versionOf(node)) === version);
  await cluster.available(node);
}

const versions = (node: string) => readdirSync(join(cluster.agentDir(node), 'upgrade', 'versions'));
const agentsOf = (node: string) =>
  processesMarked(cluster.marker).filter((pid) => commandLineOf(pid).includes(`/${node}/`));

test('a node whose owner says nothing of upgrades refuses, and says who can change that', async () => {
  const { code, said } = await upgrade(['plain'], good);
  expect(said).toContain('this node does not upgrade its agent; its owner allows it with upgrade in agent.yaml');
  expect(code).toBe(1);
});

test('a dry run says which nodes would, and nothing happens', async () => {
  const { said } = await upgrade(['web', 'plain'], good, '--dry-run');
  expect(said).toMatch(/0 nodes would run it, 1 perhaps, 1 would not/);
  expect(versions('web')).toEqual([]);
});

test('a release that another key has signed is refused before anything runs', async () => {
  const { code, said } = await upgrade(['web'], release('foreign', { key: other, program: '#!/bin/sh\ntouch ran\n' }));
  expect(said).toContain('the release is not taken: it was signed with another key');
  expect(code).toBe(1);
  expect(existsSync(join(cluster.dir, 'ran'))).toBe(false);
});

test('a release for another platform is refused', async () => {
  const { said } = await upgrade(['web'], release('strange', { program: '#!/bin/sh\n', platform: 'linux-vax' }));
  expect(said).toContain('the release is for linux-vax, and this node is');
});

test('a release that is not what was asked for is not even sent', async () => {
  const { code, said } = await upgrade(['web'], release('elder', { version: '0.1.9', program: '#!/bin/sh\n' }));
  expect(said).toContain('the release is version 0.1.9, not 0.2.0');
  expect(code).toBe(2);
});

test('an executable that does not run on the node is never put in the place of the agent', async () => {
  const { code, said } = await upgrade(
    ['web'],
    release('broken', { program: '#!/bin/sh\necho no libc >&2; exit 1\n' }),
  );
  expect(said).toContain('version 0.2.0 does not run on this node: no libc');
  expect(code).toBe(1);
  await runs('web', OLD);
});

test('an executable that is another version than it was signed as is not taken', async () => {
  const { said } = await upgrade(['web'], release('liar', { program: pretender('0.9.0', 'exit 1') }));
  expect(said).toContain('the executable of version 0.2.0 says that it is 0.9.0');
});

test('a new version that comes back and reaches the server stays, and the push job has succeeded', async () => {
  const { code, said } = await upgrade(['web'], good);
  expect(code, said).toBe(0);
  await runs('web', NEW);
  expect((await cluster.muster('push', 'start', '--node', 'web', '--', 'hello')).stdout).toContain('hello');
});

test('a task that runs goes on meanwhile, once, and ends with the new version', async () => {
  for (const file of [runsFile(), goFile()]) rmSync(file, { force: true });
  const id = (await cluster.muster('task', 'add', 'slow', '--param', 'name=x')).stdout.trim();
  await until('the task to run', () => existsSync(runsFile()));
  const { code, said } = await upgrade(['worker'], good);
  expect(code, said).toBe(0);
  await runs('worker', NEW);
  expect((await cluster.json<{ status: string }>('task', 'show', id)).status).toBe('running');
  writeFileSync(goFile(), '');
  expect((await cluster.muster('task', 'wait', id)).code).toBe(0);
  expect(readFileSync(runsFile(), 'utf8')).toBe('once\n');
});

test('a node that runs the version already has nothing to do', async () => {
  expect((await upgrade(['web'], good)).code).toBe(0);
});

test('the new version is what runs after the process that watches over it was killed', async () => {
  const agent = cluster.agent('web');
  agent.signal('SIGKILL');
  await until('the supervisor to be gone', () => commandLineOf(agent.pid) === '');
  cluster.launchAgent('web');
  await until('the agent to be back', () => /"msg":"agent starts"/.test(cluster.agent('web').log));
  await runs('web', NEW);
});

test('one that starts and never reaches the server is rolled back in time, and the node is as before', async () => {
  const { code, said } = await upgrade(['late'], release('silent', { program: pretender(NEW, 'exec sleep 1000') }));
  expect(said).toContain(`rolled back to version ${OLD}: version 0.2.0 did not reach the server within 2 s`);
  expect(code).toBe(1);
  await runs('late', OLD);
  expect(versions('late')).toEqual([]);
  expect(agentsOf('late').filter((pid) => commandLineOf(pid).includes('sleep'))).toEqual([]);
});

test('one that ends at once is rolled back at once, and a canary that fails stops the others', async () => {
  const broken = release('falling', { program: pretender(NEW, 'exit 7') });
  const { code, said } = await upgrade(['can1', 'can2'], broken, '--first', '1', '--max-failures', '0');
  expect(said).toContain('version 0.2.0 ended (exit status 7) before it had reached the server');
  expect(code).toBe(1);
  const [job] = await cluster.json<{ counts: Record<string, number> }[]>('push', 'list', '--limit', '1');
  expect(job?.counts).toEqual({ failed: 1, was_ready: 1 });
  await runs('can1', OLD);
  await runs('can2', OLD);
});

test('when everything is killed in the middle, the next start brings the old version back, and it says so', async () => {
  const silent = release('silent', { program: pretender(NEW, 'exec sleep 1000') });
  const { id } = await cluster.json<{ id: string }>(
    ...['agent', 'upgrade', '--node', 'killed', '--to', NEW, '--release', silent, '--detach'],
  );
  const agent = cluster.agent('killed');
  await agent.logged(/version 0\.2\.0 is started in the place of 0\.1\.0/);
  agent.signal('SIGKILL');
  await until('the supervisor to be gone', () => commandLineOf(agent.pid) === '');
  cluster.launchAgent('killed');
  const job = await cluster.jobEnds(id);
  expect(job.nodes.failed).toEqual(['killed']);
  const { stdout } = await cluster.muster('push', 'status', id);
  expect(stdout).toContain('everything was ended before version 0.2.0 had reached the server');
  await runs('killed', OLD);
});
