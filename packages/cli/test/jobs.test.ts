import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { namesOf, organizationTopology, siteTopology } from '@muster/broker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { obstacle } from '../../jobs/src/recovery/conditions/index.js';
import { blockedRows } from '../../jobs/src/recovery/enter.js';
import type { Status } from '../../jobs/src/status.js';
import { LocalFiles } from '../../jobs/src/systems/local/files.js';
import { type OpenSystem, type Systems, SystemTrouble } from '../../jobs/src/systems/types.js';
import type { Job } from '../../jobs/src/types.js';
import { type FrontServer, HERE, SUBMISSION, startFront, wc } from '../../jobs/test/support/front-server.js';
import { run } from '../src/run.js';
import { testWorld } from './support/world.js';

/** `muster job`, `muster recovery` and `muster dead-letter` against a real server; what workers do to jobs is done by hand. */

const DOWN = obstacle('AUTHENTICATION_FAILED', 'hpc1 refuses jobs', { systemId: 'hpc1' });
const WAY: readonly Status[] = ['PENDING', 'PROCESSING_INPUTS', 'STAGING_JOB', 'SUBMITTING', 'RUNNING'];

let server: FrontServer;
let cwd: string;
/** Systems cannot be reached, and how often that was tried. */
let away = false;
let refused = 0;
/** What came to the recovery queue. */
const heard: string[] = [];
const tokens = new Map<string, string>();
beforeAll(async () => {
  const open: Systems['open'] = async (_, name) => {
    if (away) {
      refused += 1;
      throw new SystemTrouble(name, 'CONNECTION_FAILURE', `${name} is away`);
    }
    return { system: HERE, connection: { files: new LocalFiles({ name, root: cwd }) } } as unknown as OpenSystem;
  };
  server = await startFront({ opened: { open } });
  await server.broker.declare(siteTopology());
  await server.broker.declare(organizationTopology('default'));
  server.broker.consume(namesOf('default').recoveryQueue, { slots: 1 }, async (delivery) => {
    heard.push(delivery.body.toString());
    await delivery.ack();
  });
  for (const name of ['admin', 'jdoe', 'anna']) tokens.set(name, await server.token(name));
  cwd = mkdtempSync(join(tmpdir(), 'muster-cli-jobs-'));
});
afterAll(async () => {
  rmSync(cwd, { recursive: true });
  await server.close();
});

/** A command that runs, and what it has said so far. */
function start(line: string, as = 'jdoe') {
  const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
  const env = { MUSTER_URL: server.url, MUSTER_ORG: 'default', MUSTER_TOKEN: tokens.get(as) ?? '', NO_COLOR: '1' };
  const world = testWorld({ env, cwd, now: () => server.clock.now() });
  return { world, exit: run(words, world) };
}

async function muster(line: string, as?: string) {
  const { world, exit } = start(line, as);
  return { exit: await exit, out: world.out(), err: world.err() };
}

/** What a command that goes well answers with `--json`. */
async function json<T = Record<string, unknown>>(line: string, as?: string): Promise<T> {
  const { exit, out, err } = await muster(`${line} --json`, as);
  expect([exit, err]).toEqual([0, '']);
  return JSON.parse(out) as T;
}

const submitted = async (given = {}): Promise<Job> => (await server.jobs.find((await server.submit(given)).id)) as Job;

async function running(given: Partial<Job> = {}): Promise<Job> {
  let job = await submitted();
  for (const to of WAY) job = await server.jobs.change(job, { to, patch: given });
  return job;
}

async function finish(job: Job): Promise<void> {
  const cleaning = await server.jobs.change(job, { to: 'CLEANING_UP' });
  await server.jobs.change(cleaning, { to: 'FINISHED', message: 'all went well' });
}

describe('muster job', () => {
  it('submits what a file says, and shows, lists and hides it', async () => {
    writeFileSync(join(cwd, 'job.json'), JSON.stringify({ ...SUBMISSION, name: 'from a file' }));
    const { exit, out, err } = await muster('job submit -f job.json');
    expect([exit, err]).toEqual([0, '']);
    const id = out.trim();
    const shown = (await muster(`job show ${id}`)).out;
    expect(shown).toMatch(/^Status +ACCEPTED$/m);
    expect(shown).toMatch(/^Resources .*, at most \d+:\d\d:\d\d$/m);
    const found = await json<{ id: string }[]>(`job list 'name:"from a file" AND status:ACCEPTED'`);
    expect(found.map((one) => one.id)).toEqual([id]);
    expect((await muster('job list colour:red')).exit).toBe(2);
    const early = await muster(`job hide ${id}`);
    expect(early.exit).toBe(1);
    expect(early.err).toContain(`muster job cancel ${id}`);
    expect((await muster(`job cancel ${id}`)).exit).toBe(0);
    expect((await muster(`job hide ${id}`)).exit).toBe(0);
    expect((await muster(`job list 'name:"from a file"'`)).err).toBe('no job is like that\n');
    expect(await json(`job list 'name:"from a file"' --hidden`)).toMatchObject([{ id, status: 'STOPPED' }]);
  });

  it('lists more than a page, the last changed first', async () => {
    for (let at = 0; at < 103; at++) await server.submit({ name: 'many' });
    const jobs = await json<{ id: string }[]>("job list 'name:many' --limit 102");
    expect(new Set(jobs.map(({ id }) => id)).size).toBe(102);
  });

  it('tells what happened to a job, and what it does', async () => {
    const job = await submitted();
    await server.jobs.change(job, { to: 'PENDING', patch: { worker: 'w1' } });
    const { out } = await muster(`job history ${job.uuid}`);
    expect(out.split('\n').map((line) => line.split(/ {2,}/)[1])).toEqual(['Status', 'ACCEPTED', 'PENDING', undefined]);
    expect((await muster(`job why ${job.uuid}`)).out).toContain('The worker w1 has it.');
    expect(await json(`job why ${job.uuid}`)).toEqual({ why: expect.any(Array), recovery: null });
    const refused = await muster(`job why ${job.uuid}`, 'anna');
    expect(refused.exit).toBe(3);
    expect(refused.err).toContain(`muster job share ${job.uuid} --user anna --permission READ`);
    expect((await muster('job why nothing-007')).exit).toBe(4);
  });

  it('shows who was told', async () => {
    const url = 'https://example.com/hook';
    const job = await submitted({ notifications: [{ event: '*', url, persistent: true }] });
    await server.jobs.change(job, { to: 'PENDING' });
    const told = await json<{ event: string; url: string }[]>(`job notifications ${job.uuid}`);
    expect(told).toMatchObject([
      { event: 'ACCEPTED', url, outcome: 'waiting' },
      { event: 'PENDING', url },
    ]);
    expect((await muster(`job notifications ${job.uuid}`)).out).toContain(url);
    expect((await muster(`job notifications ${(await submitted()).uuid}`)).err).toContain('nobody was told');
  });

  it('has somebody told of a job that runs, and no more', async () => {
    const { uuid } = await submitted();
    const { out } = await muster(`job notifications ${uuid} --add a@b.org --event FINISHED --once`);
    const id = out.trim();
    expect(await json(`job notifications ${uuid} --add https://example.com/h`)).toMatchObject({
      event: '*',
      persistent: true,
    });
    const shown = (await muster(`job notifications ${uuid} --subscriptions`)).out;
    expect(shown).toContain('FINISHED, once');
    expect((await muster(`job notifications ${uuid} --remove ${id}`)).out).toBe(`${id} is told nothing more\n`);
    expect(await json(`job notifications ${uuid} --subscriptions`)).toMatchObject([
      { status: 'INACTIVE' },
      { status: 'ACTIVE' },
    ]);
    expect((await muster(`job notifications ${uuid} --once`)).exit).toBe(2);
    expect((await muster(`job notifications ${uuid} --add a@b.org --remove ${id}`)).exit).toBe(2);
  });

  it('shares a job', async () => {
    const { uuid } = await submitted();
    expect((await muster(`job share ${uuid} --user anna --permission READ`)).out).toBe('anna: READ\n');
    expect((await muster(`job show ${uuid}`, 'anna')).exit).toBe(0);
    expect((await muster(`job share ${uuid}`)).out).toMatch(/^anna +yes +no$/m);
  });

  it('is submitted with --system, which an app that names its own refuses', async () => {
    const { exit, err } = await muster('job run wc-1.0 --input query1=a.txt --no-archive --system nowhere');
    expect(exit).not.toBe(0);
    expect(err).toContain('app wc-1.0 runs on here');
  });

  it('runs on the system of --system, of an app that names none', async () => {
    server.systems.set('there', { ...HERE, id: '3', uuid: '3-006', name: 'there' });
    server.apps.set('free-1.0', wc({ id: 'free-1.0', executionSystem: null }));
    const run = 'job run free-1.0 --input query1=a.txt --no-archive';
    const systemOf = async (line: string) => {
      const { exit, out, err } = await muster(line);
      expect([exit, err]).toEqual([0, '']);
      return (await server.jobs.find(out.trim()))?.systemId;
    };
    expect(await systemOf(`${run} --system there`)).toBe('there');
    expect(await systemOf(run)).toBe('store');
    const { exit, err } = await muster(`${run} --system nowhere`);
    expect(exit).toBe(2);
    expect(err).toContain('executionSystem');
  });

  it('waits until a job has ended, and says how', async () => {
    const good = start('job run wc-1.0 --input query1=a.txt --no-archive --wait --json');
    await expect.poll(() => good.world.err()).toMatch(/^job \S+\n$/);
    const id = good.world.err().trim().split(' ').at(-1) ?? '';
    let job = (await server.jobs.find(id)) as Job;
    for (const to of WAY) job = await server.jobs.change(job, { to });
    await finish(job);
    expect(await good.exit).toBe(0);
    expect(JSON.parse(good.world.out())).toMatchObject({ id, status: 'FINISHED' });

    const bad = start('job run wc-1.0 --input query1=a.txt --no-archive --wait');
    await expect.poll(() => bad.world.out()).toMatch(/^\S+-007\n$/);
    const other = (await server.jobs.find(bad.world.out().trim())) as Job;
    await server.jobs.change(other, { to: 'FAILED', condition: 'JOB_INVALID_DEFINITION', message: 'no such input' });
    expect(await bad.exit).toBe(1);
    expect(bad.world.err()).toContain('FAILED: no such input');
  });

  it('follows what a job does and writes, each thing once', async () => {
    const workPath = join(cwd, 'work');
    mkdirSync(workPath);
    const job = await running({ workPath });
    const stdout = join(workPath, `demo-${job.uuid}.out`);
    writeFileSync(stdout, 'one\n');
    const { world, exit } = start(`job output ${job.uuid} --follow`);
    await expect.poll(() => world.out()).toBe('one\n');
    away = true;
    writeFileSync(stdout, 'one\ntwo\n');
    await expect.poll(() => refused).toBeGreaterThan(0);
    away = false;
    await expect.poll(() => world.out()).toBe('one\ntwo\n');
    writeFileSync(stdout, 'one\ntwo\nthree\n');
    await finish(job);
    expect(await exit).toBe(0);
    expect(world.out()).toBe('one\ntwo\nthree\n');
    expect(world.err().match(/^[A-Z_]+(?=:)/gm)).toEqual(['RUNNING', 'CLEANING_UP', 'FINISHED']);
    expect(world.err()).toMatch(/^RUNNING: Job running on execution system$/m);
    expect((await muster(`job output ${job.uuid}`)).out).toContain(`demo-${job.uuid}.out`);
    expect((await muster(`job output ${job.uuid} demo-${job.uuid}.out`)).out).toBe('one\ntwo\nthree\n');
  });
});

describe('muster recovery', () => {
  it('lists what jobs wait for, shows which, and tests it now or gives it up', async () => {
    expect((await muster('recovery list', 'admin')).err).toBe('no job is blocked\n');
    const job = await submitted();
    const pending = await server.jobs.change(job, { to: 'PENDING' });
    const rows = blockedRows(pending, DOWN, server.clock.now());
    await server.jobs.change(pending, { to: 'BLOCKED', condition: DOWN.condition, message: DOWN.message }, rows);
    const [record] = await json<{ id: string; jobs: number }[]>('recovery list', 'admin');
    const id = record?.id ?? '';
    expect((await muster('recovery list', 'admin')).out).toMatch(/AUTHENTICATION_FAILED +1 +0 .*systemId=hpc1/);
    const { out } = await muster(`recovery show ${id}`, 'admin');
    expect(out).toMatch(/^Condition +AUTHENTICATION_FAILED$/m);
    expect(out).toMatch(/^Policy +CONSTANT_BACKOFF .*maxTries=15/m);
    expect(out).toMatch(new RegExp(`^${job.uuid} +PENDING .*hpc1 refuses jobs$`, 'm'));
    expect((await muster(`job why ${job.uuid}`)).out).toContain('No other job waits beside it.');

    expect((await muster(`recovery test-now ${id}`, 'admin')).out).toBe(`${id} is tested now\n`);
    const unasked = await muster(`recovery give-up ${id}`, 'admin');
    expect(unasked.exit).toBe(2);
    expect(unasked.err).toContain('Give up AUTHENTICATION_FAILED? 1 job fails.');
    expect(await json(`recovery give-up ${id} --yes`, 'admin')).toEqual({ id, action: 'give-up' });
    await expect.poll(() => heard.map((body) => JSON.parse(body).msgType)).toEqual(['TEST_NOW', 'GIVE_UP']);
    expect(heard.map((body) => JSON.parse(body).recoveryId)).toEqual([id, id]);
    expect((await muster('recovery list')).exit).toBe(3);
    expect((await muster('recovery show none', 'admin')).exit).toBe(4);
  });
});

describe('muster dead-letter', () => {
  it('lists, shows, publishes again and drops what nobody took', async () => {
    expect((await muster('dead-letter list', 'admin')).err).toBe('every message was taken\n');
    const { submitExchange, recoveryExchange, recoveryQueue } = namesOf('default');
    const stray = (id: string, given: object) => ({
      ...{
        id,
        org_id: server.org.id,
        kind: 'dead-letter',
        exchange: submitExchange,
        routing_key: 'k',
        reason: 'rejected',
      },
      ...{ body: Buffer.from(`body of ${id}`), length: 7, at: server.clock.now() },
      ...given,
    });
    const rows = [
      stray('m1', {}),
      stray('m2', { kind: 'alternate', exchange: recoveryExchange, routing_key: recoveryQueue, reason: null }),
      stray('m3', {}),
    ];
    await server.store.transact((trx) =>
      trx
        .insertInto('job_stray_messages')
        .values(rows as never)
        .execute(),
    );
    expect((await json<{ id: string }[]>('dead-letter list --kind alternate', 'admin')).map(({ id }) => id)).toEqual([
      'm2',
    ]);
    const { out } = await muster('dead-letter show m1', 'admin');
    expect(out).toMatch(/^Reason +rejected$/m);
    expect(out).toMatch(/\n\nbody of m1\n$/);
    expect((await muster('dead-letter resubmit m2', 'admin')).out).toBe('resubmitted m2\n');
    await expect.poll(() => heard).toContain('body of m2');
    expect((await muster('dead-letter drop m1 m3', 'admin')).exit).toBe(2);
    expect((await muster('dead-letter drop m1 m3 --yes', 'admin')).out).toBe('dropped m1\ndropped m3\n');
    expect((await muster('dead-letter list --json', 'admin')).out).toBe('[]\n');
    expect((await muster('dead-letter show m1', 'admin')).exit).toBe(4);
    expect((await muster('dead-letter list')).exit).toBe(3);
  });
});

describe('muster import agave-jobs', () => {
  it('takes over what it can, and says of every other line why not', async () => {
    const row = {
      uuid: '77-007',
      name: 'old',
      owner: 'jdoe',
      status: 'FINISHED',
      appId: 'wc-1.0',
      created: '2016-01-02 03:04:05',
    };
    const lines = [row, { ...row, uuid: '78-007', status: 'RUNNING' }].map((one) => JSON.stringify(one));
    writeFileSync(join(cwd, 'old.jsonl'), `${lines[0]}\n\nrubbish\n${lines[1]}\n`);
    const { exit, out, err } = await muster('import agave-jobs old.jsonl', 'admin');
    expect([exit, out]).toEqual([1, '1 jobs imported, 0 there already, 2 refused\n']);
    expect(err).toContain('line 3: it is no JSON object');
    expect(err).toContain('line 4: ');
    expect((await muster('job show 77-007')).out).toContain('FINISHED');
  });

  it('takes more rows than one request has', async () => {
    const row = (index: number) => ({
      ...{ uuid: `m${index}-007`, name: 'many', owner: 'jdoe', status: 'STOPPED', appId: 'wc-1.0' },
      created: '2016-01-02 03:04:05',
    });
    writeFileSync(join(cwd, 'many.jsonl'), Array.from({ length: 1201 }, (_, at) => JSON.stringify(row(at))).join('\n'));
    expect(await json('import agave-jobs many.jsonl', 'admin')).toMatchObject({
      imported: 1201,
      present: 0,
      refused: 0,
    });
    expect(await json('import agave-jobs many.jsonl', 'admin')).toMatchObject({ imported: 0, present: 1201 });
  });
});
