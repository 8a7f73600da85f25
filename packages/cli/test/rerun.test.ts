import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

const JOBS = '/organizations/o/pushy/jobs';
const EARLIER = 'e'.repeat(32);
const ID = 'a'.repeat(32);

let server: ApiServer | undefined;
afterEach(() => server?.close());

let told = '';

/** What was posted to start the job. */
async function posted(
  argv: readonly string[],
  earlier: object = {},
  nodes: readonly object[] = [],
  { exit = 0, terminal = false } = {},
): Promise<unknown> {
  server = await apiServer({
    [`GET ${JOBS}/${EARLIER}/nodes`]: json(nodes),
    [`GET ${JOBS}/${EARLIER}`]: json({
      id: EARLIER,
      status: 'complete',
      command: 'chef-client',
      nodes: {},
      ...earlier,
    }),
    [`POST ${JOBS}/preview`]: json({ count: 1, nodes: ['n'], restricted: [] }),
    [`POST ${JOBS}`]: json({ id: ID, uri: '' }, 201),
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' }, terminal });
  expect(await run(['push', ...argv], world), world.err()).toBe(exit);
  told = world.err();
  const [request] = server.received.filter(({ method, path }) => method === 'POST' && path === JOBS);
  return JSON.parse(request?.body ?? 'null');
}

test('a quorum above the number of nodes to run again is refused', async () => {
  server = await apiServer({
    [`GET ${JOBS}/${EARLIER}`]: json({ id: EARLIER, status: 'complete', command: 'chef-client', nodes: {} }),
    [`POST ${JOBS}/preview`]: json({ count: 1, nodes: ['n'], restricted: [] }),
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run(['push', 'rerun', EARLIER, '--quorum', '2', '--yes'], world)).toBe(2);
  expect(world.err()).toContain('1 node was chosen, and a quorum of 2 cannot be reached');
});

test.each([
  ['push rerun JOB', ['rerun', EARLIER]],
  ['push start --rerun JOB', ['start', '--rerun', EARLIER]],
])('%s runs the earlier command where it failed or was not started', async (_, argv) => {
  expect(await posted([...argv, '--failed', '--not-started', '--detach'])).toEqual({
    command: 'chef-client',
    capture_output: true,
    quorum: 'default',
    from_job: {
      id: EARLIER,
      statuses: ['failed', 'crashed', 'timed_out', 'aborted', 'nacked', 'unavailable', 'was_ready'],
    },
  });
  await server?.close();
  expect(await posted([...argv, '--failed', '--detach', '--', 'uptime'])).toEqual({
    command: 'uptime',
    capture_output: true,
    quorum: 'default',
    from_job: { id: EARLIER, statuses: ['failed', 'crashed', 'timed_out', 'aborted'] },
  });
});

test.each([
  ['push rerun JOB', ['rerun', EARLIER]],
  ['push start --rerun JOB', ['start', '--rerun', EARLIER]],
])('%s takes no query for its command', async (_, argv) => {
  expect(await posted([...argv, 'idx:n1', '--failed'], {}, [], { exit: 2 })).toBe(null);
  expect(told).toContain(
    "choose nodes in one way: the query 'idx:n1', or nodes of the earlier job; if 'idx:n1' is the command, write it after --",
  );
  await server?.close();
  expect(await posted([...argv, '--failed', '--detach', '--', 'idx:n1'])).toMatchObject({ command: 'idx:n1' });
  await server?.close();
  expect(await posted([...argv, 'uptime', '--failed', '--detach'])).toMatchObject({ command: 'uptime' });
});

describe('the pace of the earlier job', () => {
  const pace = {
    run_timeout: 60,
    voting_timeout: 20,
    node_timeout: 30,
    ack_timeout: 10,
    concurrency: 1,
    start_rate: 2,
    max_failures: 0,
    on_failures: 'hold',
    batches: [1, 7],
    batch_pause: 5,
    when_busy: 'wait',
    wait_timeout: 5,
  };
  const argv = ['rerun', EARLIER, '--not-started', '--detach'];

  test('is kept, and told as flags', async () => {
    expect(await posted(argv, pace)).toMatchObject(pace);
    expect(told).toBe(
      `As job ${EARLIER}: --concurrency 1 --start-rate 2 --max-failures 0 --on-failures hold --first 1 --then 7 --pause 5s --node-timeout 30s --ack-timeout 10s --when-busy wait --wait-timeout 5s\n`,
    );
  });

  test('also of what takes files along', async () => {
    const script = { name: 'a.sh', sha256: 'x', size: 1, args: [] };
    expect(await posted(argv, { ...pace, command: 'script:a.sh', script })).toMatchObject({ ...pace, script });
  });

  test('gives way to flags', async () => {
    const flags = [
      '--concurrency',
      '3',
      '--batch',
      '2',
      '--pause',
      '9s',
      '--when-busy',
      'skip',
      '--on-failures',
      'end',
    ];
    const body = (await posted([...argv, ...flags], pace)) as object;
    expect(body).toMatchObject({ concurrency: 3, max_failures: 0, on_failures: 'end', batches: [2], batch_pause: 9 });
    expect(body).not.toHaveProperty('batch_confirm');
    expect(body).not.toHaveProperty('wait_timeout');
    expect(told).toBe(`As job ${EARLIER}: --start-rate 2 --max-failures 0 --node-timeout 30s --ack-timeout 10s\n`);
  });

  test('is what --confirm goes with', async () => {
    const body = await posted([...argv, '--confirm'], pace);
    expect(body).toMatchObject({ batches: [1, 7], batch_confirm: true });
    expect(body).not.toHaveProperty('batch_pause');
  });

  describe('where it waited for somebody after each batch', () => {
    const { batch_pause: _, ...unpaused } = pace;
    const confirmed = { ...unpaused, batch_confirm: true };

    test('is kept on a terminal', async () => {
      expect(await posted(argv, confirmed, [], { terminal: true })).toMatchObject(confirmed);
      expect(told).toContain('--first 1 --then 7 --confirm --node-timeout 30s');
    });

    test('is refused without one, before anything starts, unless a flag says what is meant', async () => {
      expect(await posted(argv, confirmed, [], { exit: 2 })).toBe(null);
      expect(told).toContain('say --no-confirm, or --confirm for the same again');
      await server?.close();
      expect(await posted([...argv, '--confirm'], confirmed)).toMatchObject(confirmed);
      await server?.close();
      expect(await posted([...argv, '--no-confirm'], confirmed)).toMatchObject({ ...unpaused, batch_confirm: false });
    });

    test('--no-confirm may be said of every job', async () => {
      expect(await posted([...argv, '--no-confirm'], pace)).toMatchObject({ ...pace, batch_confirm: false });
      await server?.close();
      expect(await posted([...argv, '--no-confirm'])).toMatchObject({ batch_confirm: false });
    });
  });

  test('is not told where it has no brakes', async () => {
    expect(await posted(argv, { run_timeout: 60, voting_timeout: 20 })).toMatchObject({ run_timeout: 60 });
    expect(told).toBe('');
  });
});

describe('as whom, where and with what the earlier job ran', () => {
  const ways = {
    user: 'nobody',
    dir: '/srv',
    env: { COLOR: 'blue', SIZE: '1' },
    secrets: { db: '' },
    file: 'base64:YQ==',
  };
  const argv = ['rerun', EARLIER, '--failed', '--detach'];

  test('is kept, and told without what the variables hold', async () => {
    expect(await posted(argv, ways)).toMatchObject(ways);
    expect(told).toBe(`As job ${EARLIER}: --user nobody --dir /srv --env COLOR --env SIZE --secret db its --file\n`);
    const asked = server?.received.find(({ path }) => path === `${JOBS}/${EARLIER}`);
    expect(asked?.query.get('include_file')).toBe('true');
  });

  test('is kept for another command, too', async () => {
    expect(await posted([...argv, '--', 'id'], ways)).toMatchObject({ ...ways, command: 'id' });
  });

  test('gives way to flags, variable by variable', async () => {
    const flags = ['--user', 'deploy', '--env', 'COLOR=red', '--secret', 'db=PASSWORD', '--secret', 'key'];
    expect(await posted([...argv, ...flags], ways)).toMatchObject({
      user: 'deploy',
      dir: '/srv',
      env: { COLOR: 'red', SIZE: '1' },
      secrets: { db: 'PASSWORD', key: '' },
    });
    expect(told).toBe(`As job ${EARLIER}: --dir /srv --env SIZE its --file\n`);
  });

  test('gives way to another file, which is read once, as what a pipe brings', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'muster-rerun-'));
    const file = join(directory, 'file');
    const writer = spawn('sh', ['-c', 'mkfifo "$0"; echo made; exec >"$0"; rm "$0"; echo once', file]);
    await once(writer.stdout, 'data');
    const body = await posted([...argv, '--file', file], ways).finally(() => rmSync(directory, { recursive: true }));
    expect(body).toMatchObject({ file: `base64:${Buffer.from('once\n').toString('base64')}` });
  });

  test('so are the files that it put on its nodes, with another command, too', async () => {
    const uploads = [{ sha256: 'x', size: 1, mode: 0o644, dest: '/srv/app.conf' }];
    const uploading = { user: 'nobody', command: 'systemctl reload app', uploads };
    for (const [words, command] of [
      [[], 'systemctl reload app'],
      [['--', 'systemctl', 'restart', 'app'], 'systemctl restart app'],
    ] as const) {
      expect(await posted([...argv, ...words], uploading)).toMatchObject({ user: 'nobody', command, uploads });
      expect(told).toBe(`As job ${EARLIER}: --user nobody its --upload /srv/app.conf\n`);
      await server?.close();
    }
    const alone = await posted(argv, { ...uploading, command: 'upload:/srv/app.conf' });
    expect(alone).toMatchObject({ uploads });
    expect(alone).not.toHaveProperty('command');
    await server?.close();
    expect(
      await posted([...argv, '--', 'id'], { command: 'script:a.sh', script: { name: 'a.sh' } }),
    ).not.toHaveProperty('script');
  });

  test.each(['--script', '--upload', '--fetch'])('start --rerun takes no %s', async (flag) => {
    expect(await posted(['start', '--rerun', EARLIER, flag, 'a:/b', '--yes'], {}, [], { exit: 2 })).toBe(null);
    expect(told).toContain(`--rerun sends the files of the earlier job: for others, ${flag} goes with --from-job JOB`);
  });

  test('--to is refused where nothing is fetched', async () => {
    expect(await posted([...argv, '--to', 'x'], {}, [], { exit: 2 })).toBe(null);
    expect(told).toContain(`--to is where fetched files go, and job ${EARLIER} fetched none`);
    await server?.close();
    expect(await posted([...argv, '--to', 'x', '--', 'id'], { fetch: '/etc/motd' }, [], { exit: 2 })).toBe(null);
    expect(told).toContain('another command fetches none');
  });

  test('--detach is refused where something is fetched, and taken with another command', async () => {
    for (const one of [argv, [...argv, '--to', 'x'], ['start', '--rerun', EARLIER, '--detach']]) {
      expect(await posted(one, { fetch: '/etc/motd' }, [], { exit: 2 })).toBe(null);
      expect(told).toContain(
        `job ${EARLIER} fetched /etc/motd, and --detach does not wait for the files: leave it out`,
      );
      await server?.close();
    }
    expect(await posted([...argv, '--', 'id'], { fetch: '/etc/motd' })).toMatchObject({ command: 'id' });
  });

  test('is refused where it holds a secret of a runbook, unless the command is another', async () => {
    const run = { runbook: { name: 'deploy', version: 1, parameters: {} }, file_specified: true };
    await expect(posted(argv, run)).rejects.toThrow('muster runbook run deploy');
    await server?.close();
    expect(await posted([...argv, '--', 'id'], run)).toMatchObject({ command: 'id' });
  });
});

describe('--not-started', () => {
  const node = (node_name: string, status: string, reason: string | null, started_at: string | null = null) => ({
    node_name,
    status,
    reason,
    started_at,
  });
  const late = node('late', 'timed_out', 'not started before the job timed out');
  const ran = node('ran', 'timed_out', 'did not answer the abort', '2026-11-30T12:00:00Z');
  const silent = node('silent', 'timed_out', 'did not answer the abort');
  const away = node('away', 'unavailable', 'down');
  const earlier = { status: 'timed_out', nodes: { unavailable: ['away'], timed_out: ['late', 'ran', 'silent'] } };
  const argv = ['rerun', EARLIER, '--not-started', '--detach'];

  test('takes nodes whose turn did not come before the job timed out, and none that may have run', async () => {
    expect(await posted(argv, earlier, [away, late, ran, silent])).toMatchObject({ nodes: ['away', 'late'] });
    await server?.close();
    expect(await posted(argv, earlier, [away, ran])).toMatchObject({
      from_job: { statuses: ['nacked', 'unavailable', 'was_ready'] },
    });
  });

  test('takes nodes that went down before their turn, and none that went down at work', async () => {
    const down = node('down', 'crashed', 'down before it was started');
    const again = node('again', 'crashed', 'restarted before it was started');
    const working = node('working', 'crashed', 'down', '2026-11-30T12:00:00Z');
    const unsure = node('unsure', 'crashed', 'down');
    const crashed = { status: 'complete', nodes: { crashed: ['again', 'down', 'unsure', 'working'] } };
    expect(await posted(argv, crashed, [again, down, unsure, working])).toMatchObject({ nodes: ['again', 'down'] });
  });
});
