import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster } from './support/cluster.js';
import { HeldCommand } from './support/held-command.js';
import { until } from './support/until.js';

/** `muster push`, as a person or a script runs it, on real processes. */
let cluster: Cluster;
let held: HeldCommand;
let stubborn: HeldCommand;

const COMMANDS = {
  hello: { command_line: 'echo hello', allow_env: ['A'] },
  fail: { shell: 'echo broken >&2; exit 3' },
  bytes: { shell: "printf '\\377\\376\\000'" },
};

beforeAll(async () => {
  cluster = await Cluster.start();
  held = new HeldCommand(cluster.dir, 'held');
  stubborn = new HeldCommand(cluster.dir, 'stubborn', { stubborn: true });
  await cluster.startAgents({
    web1: {
      commands: { ...COMMANDS, held: held.entry, stubborn: stubborn.entry },
      labels: { role: 'web', env: 'prod' },
      grace: 1,
    },
    web2: { commands: { ...COMMANDS, held: held.entry }, labels: { role: 'web', env: 'test' } },
    db1: { commands: { fail: 'false' }, labels: { role: 'db', env: 'prod' } },
  });
});
afterAll(() => cluster.stop());

interface Job {
  readonly id: string;
  readonly status: string;
  readonly nodes: Readonly<Record<string, readonly string[]>>;
}

/** Starts a job without waiting for it. */
async function detached(...args: readonly string[]): Promise<Job> {
  return cluster.json<Job>('push', 'start', '--detach', ...args);
}

describe('push', () => {
  test('start waits, shows the end and exits 0 when every started node succeeded', async () => {
    const result = await cluster.muster('push', 'start', 'role:web', '--', 'hello');
    expect(result.code).toBe(0);
    expect(result.stdout).toMatch(/^Starting job id [0-9a-f]{32}/m);
    expect(result.stdout).toContain('2 nodes completed successfully');
    expect(result.stdout).toMatch(/^web1: hello$/m);
    expect(result.stdout).toMatch(/^web2: hello$/m);
  });

  test('start exits 1 when a started node failed', async () => {
    const result = await cluster.muster('push', 'start', '--node', 'web1', '--', 'fail');
    expect(result.code).toBe(1);
    expect(result.stdout).toContain('completed with errors');
  });

  test('start exits 1 when the quorum is not reached', async () => {
    expect((await cluster.muster('push', 'start', '--node', 'web1', 'db1', '--', 'hello')).code).toBe(1);
  });

  test('start exits 0 when a node refused and the quorum was reached (sheet §8.4)', async () => {
    const result = await cluster.muster('push', 'start', '--node', 'web1', 'db1', '--quorum', '50%', '--', 'hello');
    expect(result.code).toBe(0);
  });

  test('start --available runs on whoever is up, as a quorum of the organization can, and says who did not take part', async () => {
    const targets = ['--node', 'web1', 'db1', 'nobody', '--'];
    const available = await cluster.muster('push', 'start', '--available', ...targets, 'hello');
    expect(available.code).toBe(0);
    expect(available.stdout).toMatch(
      /^2 of 3 nodes did not take part\n( {2}refused.*: db1\n)? {2}unknown node: nobody\n/m,
    );
    expect((await cluster.muster('push', 'start', ...targets, 'hello')).code).toBe(1);
    expect((await cluster.muster('org', 'set', 'default', '--quorum', '30%')).stdout).toContain('30%');
    expect((await cluster.muster('push', 'start', ...targets, 'hello')).code).toBe(0);
    expect((await cluster.muster('org', 'set', 'default', '--quorum', 'all')).code).toBe(0);
  });

  test('start --json prints the job with its id', async () => {
    const result = await cluster.muster('push', 'start', '--node', 'web1', '--json', '--', 'hello');
    expect(result.json).toMatchObject({ status: 'complete', nodes: { succeeded: ['web1'] } });
    expect((result.json as Job).id).toMatch(/^[0-9a-f]{32}$/);
  });

  test('start refuses a query that matches nothing: exit 4', async () => {
    const result = await cluster.muster('push', 'start', 'role:nothing', '--', 'hello');
    expect(result.code).toBe(4);
    expect(result.stderr).toMatch(/no node matches/);
  });

  test('start --dry-run shows the targets and starts nothing', async () => {
    const before = await cluster.json<Job[]>('push', 'list');
    const result = await cluster.muster('push', 'start', '*:*', '--dry-run', '--', 'hello');
    expect(result.code).toBe(1);
    expect(result.stdout).toContain('2 nodes would run it, 1 would not:');
    expect(result.stdout).toContain('Quorum: 3 of 3 must be ready, 2 would be: it would start nowhere');
    expect(result.stderr).toContain('--quorum 2, or --available, needs fewer');
    const available = await cluster.muster('push', 'start', '*:*', '--available', '--dry-run', '--', 'hello');
    expect([available.code, available.stdout]).toEqual([
      0,
      expect.stringContaining('Quorum: whoever is available (at least one), 2 would be\n'),
    ]);
    expect(result.stdout).toMatch(/^ {2}db1 {3}no: not allowed, this command is not among those allowed there$/m);
    expect(result.stdout).toMatch(/^ {2}web1 {2}yes$/m);
    expect(await cluster.json<Job[]>('push', 'list')).toHaveLength(before.length);
  });

  test('what can be run is listed with its nodes, shown with a node, and finds nodes', async () => {
    const { stdout } = await cluster.muster('command', 'list');
    expect(stdout).toMatch(/^fail +3$/m);
    expect(stdout).toMatch(/^hello +2$/m);
    const web = await cluster.json<{ commands: { name: string }[] }>('command', 'list', 'role:db', '--search', 'AI');
    expect(web.commands).toEqual([{ name: 'fail', pattern: null, nodes: 1 }]);
    expect((await cluster.muster('node', 'show', 'db1')).stdout).toMatch(/\nCommands\n {2}fail\n/);
    expect((await cluster.muster('node', 'search', 'command:hello')).stdout).not.toContain('db1');
  });

  test('start sends user, directory, environment and file', async () => {
    const file = join(cluster.dir, 'sent.txt');
    writeFileSync(file, 'sent');
    const job = await detached('--node', 'web1', '--env', 'A=1', '--dir', '/tmp', '--file', file, '--', 'hello');
    expect(await cluster.jobIs(job.id, 'complete')).toMatchObject({
      env: { A: '1' },
      dir: '/tmp',
      file_specified: true,
    });
  });

  test('a detached job is shown by status, summary and node, while it runs and after', async () => {
    held.reset();
    const { id } = await detached('role:web', '--capture', '--', 'held');
    await cluster.nodeIs(id, 'web2', 'running');
    const table = await cluster.muster('push', 'status', id);
    expect(table.code).toBe(0);
    expect(table.stdout).toMatch(/^Node name +Status +Reason +Last updated/m);
    expect((await cluster.muster('push', 'status', id, '--summary')).stdout).toMatch(/2 nodes started/);
    held.release();
    const watched = await cluster.muster('push', 'watch', id);
    expect(watched.code).toBe(0);
    expect((await cluster.muster('push', 'status', id, '--summary')).stdout).toMatch(/2 nodes completed successfully/);
    expect((await cluster.muster('push', 'status', id, '--node', 'web1')).stdout).toMatch(
      new RegExp(`^node web1 Succeeded running job id ${id} at `),
    );
    expect(await cluster.json('push', 'status', id)).toMatchObject({ id, status: 'complete' });
  });

  test('a canary first, the rest when somebody continues the job; what is held outlives who watches', async () => {
    const { id } = await detached('role:web', '--first', '1', '--confirm', '--', 'hello');
    await until('the end of the first batch', async () => {
      const { stdout } = await cluster.muster('push', 'why', id);
      return stdout.includes(`muster push continue ${id}`) ? true : undefined;
    });
    expect((await cluster.job(id)).nodes).toMatchObject({
      succeeded: [expect.any(String)],
      ready: [expect.any(String)],
    });
    const watching = cluster.launch('push watch', ['push', 'watch', id]);
    await watching.logged(/batch 1 has ended. Go on: muster push continue/);
    expect((await cluster.muster('push', 'continue', id)).stdout).toBe(`Continuing job ${id}\n`);
    expect((await watching.exited).code).toBe(0);
    expect((await cluster.job(id)).nodes).toEqual({ succeeded: ['web1', 'web2'] });
    const again = await cluster.muster('push', 'continue', id);
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('does not wait to be continued')]);
  });

  test('failures hold a job where it stands', async () => {
    const flags = ['--available', '--concurrency', '1', '--max-failures', '0', '--on-failures', 'hold', '--detach'];
    const { id } = await cluster.json<Job>('push', 'start', 'role:web', ...flags, '--', 'fail');
    await until('the first failure', async () =>
      (await cluster.job(id)).nodes.failed === undefined ? undefined : true,
    );
    expect((await cluster.job(id)).nodes).toMatchObject({ failed: [expect.any(String)], ready: [expect.any(String)] });
    expect((await cluster.muster('push', 'abort', id)).code).toBe(0);
    expect((await cluster.jobIs(id, 'aborted')).nodes).toMatchObject({ failed: [expect.any(String)] });
  });

  test('a busy node takes the next job from its queue, and push why says what it waits for', async () => {
    held.reset();
    const first = await detached('--node', 'web1', '--', 'held');
    await cluster.nodeIs(first.id, 'web1', 'running');
    expect((await cluster.muster('push', 'start', '--node', 'web1', '--', 'hello')).code).toBe(1);
    const next = await detached('role:web', '--available', '--when-busy', 'wait', '--', 'hello');
    await cluster.nodeIs(next.id, 'web2', 'succeeded');
    const why = await cluster.muster('push', 'why', next.id);
    expect(why.stdout).toMatch(new RegExp(`^1 +is busy with job ${first.id} +\\S.* web1$`, 'm'));
    expect((await cluster.muster('push', 'why', first.id)).stdout).toMatch(/^1 +runs the command +\S.* web1$/m);
    held.release();
    expect((await cluster.muster('push', 'watch', next.id)).code).toBe(0);
    expect(await cluster.job(next.id)).toMatchObject({ when_busy: 'wait', nodes: { succeeded: ['web1', 'web2'] } });
    expect((await cluster.muster('push', 'why', next.id)).stdout).toContain('None of its nodes waits.');
  });

  test('list filters by status, command, node and user', async () => {
    const failed = await cluster.json<Job[]>('push', 'list', '--command', 'fail', '--node', 'web1', '--user', 'admin');
    expect(failed.length).toBeGreaterThan(0);
    expect(await cluster.json<Job[]>('push', 'list', '--status', 'timed_out')).toEqual([]);
    expect(await cluster.json<Job[]>('push', 'list', '--limit', '1')).toHaveLength(1);
  });

  test('output gives both streams apart, byte for byte', async () => {
    const { id } = await detached('--node', 'web1', '--capture', '--', 'fail');
    await cluster.jobIs(id, 'complete');
    const both = await cluster.muster('push', 'output', id, '--node', 'web1');
    expect([both.code, both.stdout, both.stderr]).toEqual([0, '', 'broken\n']);
    const binary = await detached('--node', 'web1', '--capture', '--', 'bytes');
    await cluster.jobIs(binary.id, 'complete');
    const raw = execFileSync(
      process.execPath,
      [...['packages/cli/bin/muster.js', 'push', 'output', binary.id], ...['--node', 'web1', '--stream', 'stdout']],
      { env: cluster.environment },
    );
    expect([...raw]).toEqual([0o377, 0o376, 0]);
  });

  test('output --follow shows what a running command writes', async () => {
    held.reset();
    cluster.configureAgent('web2', {
      commands: { ...COMMANDS, held: held.entry, talk: { shell: `echo first; ${held.shell}; echo last` } },
      labels: { role: 'web', env: 'test' },
    });
    cluster.agent('web2').signal('SIGHUP');
    await until('the agent to know the command', async () => {
      const job = await cluster.json<Job>('push', 'start', '--node', 'web2', '--detach', '--capture', '--', 'talk');
      await until('a vote', async () => !('new' in (await cluster.job(job.id)).nodes));
      if ((await cluster.job(job.id)).status === 'quorum_failed') return undefined;
      const follow = cluster.launch('push output', ['push', 'output', job.id, '--node', 'web2', '--follow']);
      await follow.logged(/first/);
      held.release();
      expect((await follow.exited).code).toBe(0);
      expect(follow.stdout).toBe('first\nlast\n');
      return true;
    });
  });

  test('start shows what a running command writes; --no-capture takes none of it', async () => {
    held.reset();
    const start = cluster.launch('push start', ['push', 'start', '--node', 'web2', '--', 'talk']);
    await start.logged(/^first$/m);
    held.release();
    expect((await start.exited).code).toBe(0);
    expect(start.stdout).toMatch(/^Starting job id \w+\nfirst\nlast\nJob \w+ complete\n/);
    const results = await cluster.muster('push', 'start', 'role:web', '--output', 'grouped', '--', 'hello');
    expect(results.stdout).toMatch(
      /^2 nodes: same output, succeeded {2}\(([0-9a-f]{8})\)\n {2}web1, web2\n {4}hello\n/m,
    );
    const kept = await cluster.muster('push', 'start', '--node', 'web1', '--no-capture', '--json', '--', 'hello');
    expect((kept.json as Job).nodes).toEqual({ succeeded: ['web1'] });
    expect((await cluster.muster('push', 'output', (kept.json as Job).id, '--node', 'web1')).code).toBe(4);
  });

  test('abort stops the command on the node, and says so again when repeated (N7)', async () => {
    held.reset();
    const { id } = await detached('--node', 'web1', '--', 'held');
    await cluster.nodeIs(id, 'web1', 'running');
    const aborted = await cluster.json<Job>('push', 'abort', id, '--wait');
    expect(aborted).toMatchObject({ status: 'aborted', nodes: { aborted: ['web1'] } });
    expect((await cluster.muster('push', 'abort', id)).code).toBe(0);
    await cluster.available('web1');
  });

  test('abort --wait returns when a command that ignores TERM is gone and its node takes jobs again', async () => {
    const before = stubborn.runs.length;
    const { id } = await detached('--node', 'web1', '--', 'stubborn');
    await until('the command to run', async () => stubborn.runs.length === before + 1);
    const aborted = await cluster.muster('push', 'abort', id, '--wait');
    expect(aborted).toMatchObject({ code: 0, stderr: expect.stringContaining('has stopped: web1') });
    expect(await cluster.json('node', 'show', 'web1')).toMatchObject({ availability: 'available' });
    expect((await cluster.muster('push', 'rerun', id, '--failed', '--', 'hello')).code).toBe(0);
  });

  test('rerun --not-started takes nodes whose turn did not come in time, at the pace of the job before', async () => {
    const staged = ['--first', '1', '--confirm', '--max-failures', '0', '--run-timeout', '5s'];
    const first = await cluster.muster('push', 'start', 'role:web', ...staged, '--json', '--', 'hello');
    const { id, nodes } = JSON.parse(first.stdout) as Job;
    expect(nodes).toMatchObject({ succeeded: [expect.any(String)], timed_out: [expect.any(String)] });
    const again = await cluster.muster('push', 'rerun', id, '--not-started', '--no-confirm', '--json');
    expect(again.stderr).toContain(`As job ${id}: --max-failures 0 --first 1 --then 2\n`);
    const job: unknown = JSON.parse(again.stdout);
    expect(job).toMatchObject({
      nodes: { succeeded: nodes.timed_out },
      max_failures: 0,
      batches: [1, 2],
      run_timeout: 5,
    });
    expect(job).not.toHaveProperty('batch_confirm');
  });

  test('rerun takes the nodes that failed or were not started', async () => {
    const { id } = await detached('--node', 'web1', 'db1', 'nobody', '--quorum', '1', '--', 'fail');
    await cluster.jobIs(id, 'complete');
    const again = await cluster.muster('push', 'rerun', id, '--failed', '--not-started', '--quorum', '1', '--json');
    expect((again.json as Job).nodes).toEqual({
      failed: expect.arrayContaining(['db1', 'web1']),
      unavailable: ['nobody'],
    });
  });

  test('the beginning of an id is enough when no other job has it, with or without the digits that all ids have in common', async () => {
    const { id } = await detached('--node', 'web1', '--capture', '--', 'hello');
    await cluster.jobIs(id, 'complete');
    // Its own digits are random: eight of them are its alone.
    for (const digits of [id.slice(0, 20), id.slice(12, 20)]) {
      expect(await cluster.json('push', 'status', digits)).toMatchObject({ id });
      expect((await cluster.muster('push', 'output', digits, '--node', 'web1')).stdout).toBe('hello\n');
    }
    const again = await cluster.json<Job>(
      'push',
      'start',
      '--from-job',
      id.slice(12, 20),
      '--job-status',
      'succeeded',
      '--',
      'hello',
    );
    expect(again.nodes).toEqual({ succeeded: ['web1'] });
    const common = await cluster.muster('push', 'abort', id.slice(0, 8));
    expect(common.code).toBe(2);
    expect(common.stderr).toMatch(
      /could be any of these jobs:\n {2}[0-9a-f]{32} {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\d {2}\w+/,
    );
    expect((await cluster.muster('push', 'status', '3f2')).code).toBe(2);
  });

  test('a job or node that does not exist: exit 4', async () => {
    expect((await cluster.muster('push', 'status', 'f'.repeat(32))).code).toBe(4);
    expect((await cluster.muster('push', 'abort', 'f'.repeat(32))).code).toBe(4);
    expect((await cluster.muster('push', 'abort', 'f'.repeat(16))).code).toBe(4);
    expect((await cluster.muster('push', 'output', 'f'.repeat(32), '--node', 'web1')).code).toBe(4);
  });

  test('watching may be interrupted: the job goes on', async () => {
    held.reset();
    const run = cluster.launch('push start', ['push', 'start', '--node', 'web1', '--', 'held']);
    const [, id = ''] = /Starting job id ([0-9a-f]{32})/.exec(await run.logged(/Starting job id [0-9a-f]{32}/)) ?? [];
    await cluster.nodeIs(id, 'web1', 'running');
    run.signal('SIGINT');
    expect((await run.exited).code).toBe(130);
    expect(run.stderr).toContain(`muster push abort ${id}`);
    held.release();
    expect((await cluster.jobIs(id, 'complete')).nodes).toEqual({ succeeded: ['web1'] });
  });
});
