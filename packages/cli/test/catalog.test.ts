import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WC } from '../../jobs/test/support/apps.js';
import { type CatalogServer, startCatalog } from '../../jobs/test/support/catalog-server.js';
import { run } from '../src/run.js';
import { testWorld } from './support/world.js';

/** `muster system`, `muster app` and `muster job-queue` against a real server. */

const HOST_KEY = 'A'.repeat(43);
const HPC = '--type ssh --host login1.example.com --user jobs --scheduler slurm --root /scratch/jobs';

let server: CatalogServer;
let cwd: string;
const tokens = new Map<string, string>();
beforeAll(async () => {
  server = await startCatalog();
  for (const name of ['admin', 'jdoe']) tokens.set(name, await server.token(name));
  cwd = mkdtempSync(join(tmpdir(), 'muster-cli-catalog-'));
  writeFileSync(join(cwd, 'key'), 'PRIVATE KEY\n');
  writeFileSync(join(cwd, 'root.pem'), server.privateKey, { mode: 0o600 });
  writeFileSync(join(cwd, 'password'), 'open sesame\n');
});
afterAll(async () => {
  rmSync(cwd, { recursive: true });
  await server.close();
});

const file = (name: string, content: unknown): string => {
  writeFileSync(join(cwd, name), JSON.stringify(content));
  return name;
};

async function muster(line: string, as = 'admin') {
  const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
  // Systems of this very host are made with signed requests.
  const login = as === 'root' ? { MUSTER_USER: as, MUSTER_KEY: 'root.pem' } : { MUSTER_TOKEN: tokens.get(as) ?? '' };
  const env = { MUSTER_URL: server.url, MUSTER_ORG: 'acme', ...login, NO_COLOR: '1' };
  const world = testWorld({ env, cwd, now: () => server.clock.now() });
  const exit = await run(words, world);
  return { exit, out: world.out(), err: world.err() };
}

/** What a command that goes well answers with `--json`. */
async function json<T = Record<string, unknown>>(line: string, as = 'admin'): Promise<T> {
  const { exit, out, err } = await muster(`${line} --json`, as);
  expect([exit, err]).toEqual([0, '']);
  return JSON.parse(out) as T;
}

const secretOf = async (name: string) => {
  const system = await server.catalog.systems.find(server.org.id, name);
  return system === null ? null : server.catalog.systems.secretOf(system);
};

describe('muster system', () => {
  it('creates a host with what opens it, and shows it without that', async () => {
    const flags = `${HPC} --port 2222 --key key --host-key SHA256:${HOST_KEY} --max-jobs 20 --env PATH=/opt/slurm/bin:/bin`;
    expect(await muster(`system create hpc1 ${flags}`)).toEqual({ exit: 0, out: 'created system hpc1\n', err: '' });
    expect(await secretOf('hpc1')).toEqual({ privateKey: 'PRIVATE KEY\n' });
    const { out } = await muster('system show hpc1', 'jdoe');
    for (const line of [
      /^Type +ssh$/m,
      /^Scheduler +slurm$/m,
      /^Host +login1\.example\.com$/m,
      /^Port +2222$/m,
      new RegExp(`^Host key +SHA256:${HOST_KEY}$`, 'm'),
      /^Root +\/scratch\/jobs$/m,
      /^Jobs +at most 20$/m,
      /^Variable PATH +\/opt\/slurm\/bin:\/bin$/m,
    ]) {
      expect(out).toMatch(line);
    }
    expect(out).not.toContain('PRIVATE');
  });

  it('says how the key of a host is found when it was not given', async () => {
    const { exit, err } = await muster(`system create hpc2 ${HPC} --password-file password`);
    expect(exit).toBe(0);
    expect(err).toContain('ssh-keyscan login1.example.com');
    expect(err).toContain('muster system set hpc2 --host-key SHA256:KEY');
    expect(await secretOf('hpc2')).toEqual({ password: 'open sesame' });
    const other = await muster(
      'system create hpc4 --type ssh --host h --port 2200 --user u --password-file password --root /r',
    );
    expect(other.err).toContain('`ssh-keyscan -p 2200 h |');
  });

  it('creates this machine for server administrators alone, and a queue of our own nodes', async () => {
    const here = 'system create here --type local --root /srv/jobs --default';
    const refused = await muster(here);
    expect(refused.exit).toBe(3);
    expect(await muster(here, 'root')).toMatchObject({ exit: 0 });
    const rack = await muster('system create rack --type tasks --queue render --root /shared');
    expect(rack).toMatchObject({ exit: 0, out: 'created system rack\n' });
    expect(rack.err).toContain("there is no queue 'render' yet, so no job can run there");
    expect(await json('system show rack')).toMatchObject({ muster: { type: 'tasks', queue: 'render' } });
    const { out } = await muster('system list');
    expect(out).toMatch(/^here +enabled +local +- +yes$/m);
    expect(out).toMatch(/^hpc1 +enabled +ssh +login1\.example\.com +-$/m);
    expect(out).toMatch(/^rack +enabled +tasks +render +-$/m);
  });

  it('does not create one over another', async () => {
    const { exit, err } = await muster('system create rack --type tasks --queue other --root /shared');
    expect(exit).toBe(1);
    expect(err).toContain("system 'rack' already exists");
    expect(await json('system show rack')).toMatchObject({ muster: { queue: 'render' } });
  });

  it('changes what is given, and keeps everything else', async () => {
    const limits = {
      max_nodes: 4,
      max_run_time: '24:00:00',
      max_memory: '1.5GB',
      directives: ['#SBATCH --account=lab'],
    };
    const queues = file('queues.json', [{ name: 'normal', default: true, ...limits }, { name: 'long' }]);
    await muster(`system set hpc1 --batch-queues ${queues}`);
    const before = await json('system show hpc1');
    expect(before).toMatchObject({
      queues: [{ name: 'normal', maxRequestedTime: '24:00:00', customDirectives: '#SBATCH --account=lab' }, {}],
    });
    expect((await muster('system set hpc1 --scratch work')).exit).toBe(0);
    expect(await json('system show hpc1')).toEqual({ ...before, scratchDir: 'work' });
    await muster(`system set hpc2 --host-key SHA256:${HOST_KEY}`);
    expect(await secretOf('hpc2')).toEqual({ password: 'open sesame' });
    expect((await muster('system set here --no-default', 'root')).exit).toBe(0);
    expect(await json('system show here')).toMatchObject({ default: false });
  });

  it('sends no key to a host that it was not given for', async () => {
    const { exit, err } = await muster('system set hpc1 --host login2.example.com');
    expect(exit).toBe(2);
    expect(err).toContain('with another --host give --key FILE or --password-file FILE again');
    expect((await muster('system set hpc1 --host login2.example.com --password-file password')).exit).toBe(0);
    expect(await secretOf('hpc1')).toEqual({ password: 'open sesame' });
  });

  it.each([
    ['system set hpc1', 'say what is to be changed'],
    ['system create x --type ssh --root /x --key nowhere', 'cannot read nowhere'],
    ['system create x --type ssh --root relative --host h --user u', 'system.root'],
    ['system create x --type local --root /x --queue q', 'system.queue: a system of type local has none'],
    ['system create x --type ssh --root /x --host h --user u --env PATH', '--env takes NAME=VALUE'],
    ['system create x --type ssh --root /x --host h --user u --env 1=2', 'must be the name of a variable'],
    ['system create x --root /x', '--type'],
  ])('%s: says what is wrong', async (line, reason) => {
    const { exit, err } = await muster(line, 'root');
    expect(exit).toBe(2);
    expect(err).toContain(reason);
  });

  it('disables, enables and forgets', async () => {
    expect((await muster('system disable rack')).out).toBe('system rack is disabled\n');
    expect((await muster('system enable rack')).out).toBe('system rack is enabled\n');
    expect((await muster('system rm rack')).exit).toBe(2);
    expect(await muster('system rm rack --yes')).toMatchObject({ exit: 0, out: 'deleted system rack\n' });
    expect((await muster('system show rack')).exit).toBe(4);
    expect((await muster('system disable hpc1', 'jdoe')).exit).toBe(3);
  });
});

describe('muster app', () => {
  it('registers an app of a file, and its next revision', async () => {
    const path = file('wc.json', WC);
    expect(await muster(`app create --file ${path}`)).toEqual({ exit: 0, out: 'wc-1.0\n', err: '' });
    expect((await muster(`app create -f ${path}`)).err).toContain('revision 2');
    const { out } = await muster('app show wc-1.0', 'jdoe');
    expect(out).toMatch(/^Wrapper +store:apps\/wc-1\.0\/wrapper\.sh$/m);
    expect(out).toMatch(/^Input query1 +required, default in\/a\.txt {2}File$/m);
    expect(out).toMatch(/^Parameter mode +enumeration, optional, default fast$/m);
    expect((await muster('app list')).out).toMatch(/^wc-1\.0 +2 +here +yes .*Counts words$/m);
  });

  it('says which field of the file is wrong', async () => {
    const { exit, err } = await muster(`app create --file ${file('bad.json', { ...WC, inputs: [{ id: 'PATH' }] })}`);
    expect(exit).toBe(2);
    expect(err).toContain('app.inputs.0.id');
    expect((await muster('app create --file nowhere.json')).err).toContain('nowhere.json');
  });

  it('disables, hides, and deletes', async () => {
    expect((await muster('app disable wc-1.0')).out).toBe('app wc-1.0 is disabled\n');
    expect((await muster('app enable wc-1.0')).out).toBe('app wc-1.0 is enabled\n');
    expect((await muster('app unpublish wc-1.0')).out).toBe('app wc-1.0 is private\n');
    expect((await muster('app show wc-1.0', 'jdoe')).exit).toBe(4);
    expect((await muster('app publish wc-1.0')).out).toBe('app wc-1.0 is public\n');
    expect((await muster('app rm wc-1.0 --yes')).exit).toBe(0);
    expect((await muster('app list')).err).toContain('muster app create --file FILE');
  });
});

describe('muster job-queue', () => {
  const night = { name: 'aloe.jobq.acme.submit.night', tenantId: 'acme', priority: 10, filter: 'hour >= 20' };
  const big = { name: 'aloe.jobq.acme.submit.big', tenantId: 'acme', priority: 20, filter: 'nodeCount > 2' };

  it('applies a file, lists what there is, and deletes', async () => {
    const { exit, out } = await muster(`job-queue apply -f ${file('queues.json', [night, big])}`);
    expect([exit, out]).toEqual([0, 'night: priority 10\nbig: priority 20\n']);
    expect((await json<{ name: string }[]>('job-queue list')).map(({ name }) => name.split('.').at(-1))).toEqual([
      'big',
      'night',
      'DefaultQueue',
    ]);
    const bad = await muster(`job-queue apply -f ${file('bad-queues.json', [{ ...night, filter: 'hour >' }])}`);
    expect(bad.exit).toBe(2);
    expect(bad.err).toContain('JOBS_QUEUE_FILTER_PARSE_ERROR');
    // Who takes from queues in a database that is shared is not known to one process.
    const workers = server.shared ? '-' : '0';
    expect((await muster('job-queue stats')).out).toMatch(new RegExp(`^night +0 +0 +${workers} `, 'm'));
  });

  it('tells which queue takes a job, filter by filter, with the values seen', async () => {
    await muster(`app create --file ${file('wc.json', { ...WC, executionSystem: 'here' })}`);
    const job = file('job.json', { name: 'j', appId: 'wc-1.0', archive: false, inputs: { query1: 'a.txt' } });
    const { exit, out } = await muster(`job-queue test ${job} --at 2026-11-23T21:00:00Z --owner anna`, 'jdoe');
    expect(exit).toBe(0);
    expect(out).toMatch(/^big +20 +no +nodeCount > 2 +nodeCount=1$/m);
    expect(out).toMatch(/^night +10 +yes +hour >= 20 +hour=21$/m);
    expect(out).toMatch(/^DefaultQueue +1 +not asked /m);
    expect(out).toMatch(/^It goes to night\.$/m);
    expect(await json(`job-queue test ${job} --at 2026-11-23T09:00:00Z`)).toMatchObject({
      queue: 'aloe.jobq.acme.submit.DefaultQueue',
    });
    await muster('job-queue rm night --yes');
    expect(await json<unknown[]>('job-queue list')).toHaveLength(2);
  });
});
