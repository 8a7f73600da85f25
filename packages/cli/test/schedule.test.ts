import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startTaskServer, type TaskServer } from '../../tasks/test/support/task-server.js';
import { run } from '../src/run.js';
import { timeText } from '../src/summary.js';
import { testWorld } from './support/world.js';

/** `muster schedule` against a real server without nodes. Its clock stands at 2012-09-16, 0:00 UTC. */

let server: TaskServer;
let env: Record<string, string>;
let cwd: string;
beforeAll(async () => {
  server = await startTaskServer();
  // Requests are signed with the time of this process.
  vi.useFakeTimers({ toFake: ['Date'], now: server.test.clock.now() });
  cwd = mkdtempSync(join(tmpdir(), 'muster-cli-schedules-'));
  const key = join(cwd, 'admin.pem');
  writeFileSync(key, server.privateKey, { mode: 0o600 });
  env = { MUSTER_URL: server.url, MUSTER_ORG: 'default', MUSTER_USER: 'admin', MUSTER_KEY: key, NO_COLOR: '1' };
  expect(await muster('queue create resize --plugin thumbnail')).toMatchObject({ exit: 0 });
});
afterAll(async () => {
  vi.useRealTimers();
  rmSync(cwd, { recursive: true });
  await server.close();
});

async function muster(line: string): Promise<{ readonly exit: number; readonly out: string; readonly err: string }> {
  const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
  const world = testWorld({ env, cwd, now: () => server.test.clock.now() });
  const exit = await run(words, world);
  return { exit, out: world.out(), err: world.err() };
}

/** What a command that goes well answers with `--json`. */
async function json<T = Record<string, unknown>>(line: string): Promise<T> {
  const { exit, out, err } = await muster(`${line} --json`);
  expect([exit, err]).toEqual([0, '']);
  return JSON.parse(out) as T;
}

describe('muster schedule create', () => {
  it('makes a schedule of tasks', async () => {
    const { out } = await muster(
      "schedule create nightly --cron '0 3 * * *' --tz Europe/Berlin --queue resize --param what=all --param n=2 --retries 3 --timeout 10m",
    );
    expect(out).toContain('created schedule nightly: it runs next at 2012-09-16 03:00:00 in Europe/Berlin (here ');
    expect(await json('schedule show nightly')).toMatchObject({
      ...{ cron: '0 3 * * *', timezone: 'Europe/Berlin', missed: 'run-once', overlap: 'skip', state: 'active' },
      task: { queue: 'resize', params: { what: 'all', n: 2 }, retries: 3, timeout: 600 },
    });
  });

  it('says of one whose calendars never open that no run is due, and why', async () => {
    const { out: closed } = await muster('calendar create always --weekly mon-sun');
    expect(closed).toContain('nothing starts, and no end is in sight (mon-sun)');
    const why = 'as far as can be seen, each of its times falls into calendar always';
    const { out } = await muster('schedule create stuck --cron @daily --queue resize --not-during always');
    expect(out).toBe(`created schedule stuck: no run is due: ${why}\n`);
    expect((await muster('schedule show stuck')).out).toMatch(new RegExp(`^Next +none: ${why}$`, 'm'));
    expect((await muster('calendar list')).out).toMatch(/always +nothing, without end/);
    expect((await muster('schedule rm stuck --yes')).exit).toBe(0);
  });

  it('makes a schedule of push jobs, with the flags of push start', async () => {
    writeFileSync(join(cwd, 'patch.sh'), 'true');
    const flags = '--concurrency 25% --run-timeout 1h --env COLOR=blue --file patch.sh';
    await muster(`schedule create patch --cron @weekly --push 'sh -c true' --target role:web --missed skip ${flags}`);
    expect(await json('schedule show patch')).toMatchObject({
      missed: 'skip',
      push: {
        command: 'sh -c true',
        search: 'role:web',
        run_timeout: 3600,
        env: { COLOR: 'blue' },
        file_specified: true,
      },
    });
    await muster('schedule create check --cron @daily --push uptime --node web1 web2 --paused --overlap allow');
    expect(await json('schedule show check')).toMatchObject({
      ...{ state: 'paused', overlap: 'allow', next_run: null },
      push: { command: 'uptime', nodes: ['web1', 'web2'], quorum: 'default', capture_output: true },
    });
    expect((await muster('schedule show check')).out).toMatch(/^Nodes +web1, web2$/m);
  });

  it('takes the quorum of the organization and keeps output, as push start does, unless told otherwise', async () => {
    await muster('schedule create up --cron @daily --push uptime --node web1 --available --no-capture');
    expect(await json('schedule show up')).toMatchObject({ push: { quorum: 1, capture_output: false } });
  });

  it('takes a script with its arguments, and files, to the nodes', async () => {
    writeFileSync(join(cwd, 'tidy.sh'), '#!/bin/sh\n');
    writeFileSync(join(cwd, 'app.conf'), 'a=1\n');
    const flags = '--script tidy.sh --arg --older-than --arg 7d --upload app.conf:/srv/app.conf --target role:web';
    await muster(`schedule create tidy --cron @daily ${flags}`);
    const { push, command } = await json<{ push: Record<string, unknown>; command: string }>('schedule show tidy');
    expect(command).toBe('script:tidy.sh --older-than 7d');
    expect(push).toMatchObject({
      script: { name: 'tidy.sh', args: ['--older-than', '7d'], signature: expect.any(String) },
      uploads: [{ dest: '/srv/app.conf' }],
    });
    await muster("schedule set tidy --push 'uname -a'");
    const changed = await json<{ push: object }>('schedule show tidy');
    expect(changed.push).toMatchObject({ command: 'uname -a', uploads: [{ dest: '/srv/app.conf' }] });
    expect(changed.push).not.toHaveProperty('script');
  });

  it.each([
    ['--cron @daily --push uptime --node web1 --arg x', '--arg is of a script'],
    ['--cron @daily --push uptime --script tidy.sh --node web1', 'give either --push or --script'],
    ['--cron @daily', 'say what is to be run: --queue QUEUE, --push COMMAND or --script FILE'],
    ['--cron @daily --param a=1', 'say to which queue tasks are added'],
    ['--cron @daily --push uptime', 'no nodes chosen: give --target QUERY, --node or --node-group'],
    ['--cron @daily --target role:web', 'say what is run on the nodes'],
    ['--cron @daily --queue resize --push uptime', 'these flags are of both'],
    ['--cron @daily --push x --target a:b --node web1', 'choose nodes in one way'],
    ['--queue resize', "required option '--cron <fields>' not specified"],
    ["--cron '0 25 * * *' --queue resize", "error: --cron: hour: '25' is not from 0 to 23"],
    ['--cron @daily --tz Berlin --queue resize', 'invalid timezone'],
    ['--cron @daily --overlap never --queue resize', 'Allowed choices are allow, skip, queue'],
  ])('refuses %s', async (flags, reason) => {
    const { exit, err } = await muster(`schedule create wrong ${flags}`);
    expect(err).toContain(reason);
    expect(exit).toBe(2);
  });
});

describe('muster schedule set', () => {
  it('changes what is given, and keeps the rest', async () => {
    await muster('schedule create tasks --cron @daily --queue resize --param what=all --priority 5');
    await muster("schedule set tasks --cron '30 1 * * *' --param what=new");
    expect(await json('schedule show tasks')).toMatchObject({
      cron: '30 1 * * *',
      task: { queue: 'resize', params: { what: 'new' }, priority: 5 },
    });
    await muster('schedule create jobs --cron @daily --push uptime --node web1 --quorum 1');
    await muster("schedule set jobs --target 'role:web' --push 'uname -a'");
    const { push } = await json<{ push: object }>('schedule show jobs');
    expect(push).toEqual({ command: 'uname -a', search: 'role:web', quorum: 1, capture_output: true });
  });

  it('asks for the file again, which the server does not show', async () => {
    writeFileSync(join(cwd, 'x.sh'), 'true');
    await muster('schedule create filed --cron @daily --push uptime --node web1 --file x.sh');
    expect(await muster('schedule set filed --push uname')).toMatchObject({ exit: 2 });
    expect(await muster('schedule set filed --push uname --file x.sh')).toMatchObject({ exit: 0 });
    expect(await muster('schedule set filed --cron @hourly')).toMatchObject({ exit: 0 });
  });

  it('wants something to be changed', async () => {
    expect((await muster('schedule set nightly')).err).toContain('say what is to be changed');
  });
});

it('muster schedule run starts it now, and prints the id', async () => {
  await muster('schedule create now --cron @yearly --queue resize');
  const { out } = await muster('schedule run now');
  expect(await json(`task show ${out.trim()}`)).toMatchObject({ status: 'queued', queue: 'resize' });
  expect((await muster('schedule show now')).out).toMatch(new RegExp(`^Last run +.* {2}queued {2}${out.trim()}$`, 'm'));
});

it('muster schedule runs tells what it has started, newest first', async () => {
  await muster('schedule create past --cron @yearly --queue resize');
  expect((await muster('schedule runs past')).err).toContain('it has started nothing yet');
  const ids = [(await muster('schedule run past')).out.trim(), (await muster('schedule run past')).out.trim()];
  const now = timeText(server.test.clock.now());
  const lines = (await muster('schedule runs past')).out.split('\n').map((line) => line.split(/ {2,}/));
  expect(lines[0]).toEqual(['When', 'Due', 'Outcome', 'Run', 'Times', 'Reason']);
  expect(lines.slice(1, 3).map((line) => line.slice(0, 4))).toEqual(
    ids
      .sort()
      .reverse()
      .map((id) => [now, now, 'queued', id]),
  );
  expect(await json('schedule runs past --limit 1')).toMatchObject([
    { outcome: 'started', status: 'queued', count: 1 },
  ]);
});

it('muster schedule list tells when each runs, ran, and what became of it', async () => {
  await muster('schedule create listed --cron @hourly --queue resize');
  await muster('schedule run listed');
  const line = (await muster('schedule list')).out.split('\n').find((one) => one.startsWith('listed'));
  const now = timeText(server.test.clock.now());
  expect(line?.split(/ {2,}/)).toEqual([
    ...['listed', 'active', '@hourly', timeText('2012-09-16T01:00:00Z'), now, 'queued', 'task of resize'],
  ]);
});

it('muster schedule pause, resume and rm say how it is then', async () => {
  await muster('schedule create stopped --cron @hourly --queue resize');
  expect((await muster('schedule pause stopped')).out).toBe('schedule stopped is paused\n');
  expect((await muster('schedule list')).out).toMatch(/^stopped +paused .*paused by admin/m);
  expect((await muster('schedule resume stopped')).out).toContain('schedule stopped is active: it runs next at');
  expect(await muster('schedule rm stopped')).toMatchObject({ exit: 2 });
  expect((await muster('schedule rm stopped --yes')).out).toBe('deleted schedule stopped\n');
  expect(await muster('schedule show stopped')).toMatchObject({ exit: 4 });
});

describe('muster schedule next', () => {
  it('prints the next five times, as clocks there show them', async () => {
    expect((await muster("schedule next '0 3 * * *' --tz Europe/Berlin")).out.split('\n')).toEqual([
      'Sun 2012-09-16 03:00 +02:00 Europe/Berlin',
      'Mon 2012-09-17 03:00 +02:00 Europe/Berlin',
      'Tue 2012-09-18 03:00 +02:00 Europe/Berlin',
      'Wed 2012-09-19 03:00 +02:00 Europe/Berlin',
      'Thu 2012-09-20 03:00 +02:00 Europe/Berlin',
      '',
    ]);
    expect((await muster("schedule next '0 0 1 1 *' --tz America/St_Johns")).out).toContain(
      'Tue 2013-01-01 00:00 -03:30 America/St_Johns',
    );
    expect(await json<string[]>('schedule next @monthly')).toContain('2012-10-01T00:00:00.000Z');
  });

  it.each([
    ["'0 3 * *'", 'it has 4 fields'],
    ['@daily --tz Berlin', "there is no time zone 'Berlin'"],
  ])('refuses %s', async (words, reason) => {
    const { exit, err } = await muster(`schedule next ${words}`);
    expect([exit, err.includes(reason)]).toEqual([2, true]);
  });
});
