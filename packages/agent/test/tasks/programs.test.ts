import { existsSync } from 'node:fs';
import { chmod, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { groupOf } from '../../src/execution/cgroup.js';
import { scratch } from '../support/agent.js';
import { endHosts, TaskNode } from '../support/task-node.js';

let place: Awaited<ReturnType<typeof scratch>>;
let node: TaskNode | null;
beforeEach(async () => {
  place = await scratch();
  node = null;
});
afterEach(async () => {
  node?.vanish();
  await endHosts(join(place.dir, 'tasks'));
  await place.dispose();
});

const sh = (script: string, more: Record<string, unknown> = {}) => ({
  program: '/bin/sh',
  args: ['-c', script],
  ...more,
});

async function start(
  plugins: Record<string, unknown>,
  more: Record<string, unknown> = {},
  grace?: number,
): Promise<TaskNode> {
  const options = grace === undefined ? {} : { grace };
  node = await TaskNode.start(join(place.dir, 'tasks'), { max: 2, plugins, ...more }, options);
  return node;
}

const file = (name: string) => join(place.dir, name);

/** Processes of this machine whose command line holds a text. */
async function alive(text: string): Promise<number[]> {
  const found: number[] = [];
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    const line = await readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '');
    if (line.includes(text)) found.push(Number(pid));
  }
  return found;
}

describe('a program that knows nothing of Muster', () => {
  it('exit status 0 is success, and short output comes with the result', async () => {
    const at = await start({ p: sh('echo out; echo err >&2') });
    at.assign('a', 'p');
    const { result } = await at.heard('a', 'finished');
    expect(result).toMatchObject({ status: 1, retry: false, reason: null, exitCode: 0, signal: null });
    expect(result).toMatchObject({ stdout: 'out\n', stderr: 'err\n', bytes: null });
  });
  it('75 asks for another run, other codes and signals fail', async () => {
    const at = await start({
      p: { program: '/bin/sh', args: ['-c', '[ $0 = kill ] && kill -9 $$; exit $0', '{how}'] },
    });
    at.assign('a', 'p', { how: '75' });
    at.assign('b', 'p', { how: '3' });
    at.assign('c', 'p', { how: 'kill' });
    expect(await at.result('a')).toMatchObject({ status: 2, retry: true, exitCode: 75 });
    expect(await at.result('b')).toMatchObject({
      status: 2,
      retry: false,
      reason: 'exit status 3',
    });
    expect(await at.result('c')).toMatchObject({ status: 2, exitCode: null, signal: 'SIGKILL' });
  });
  it('gets parameters in its arguments, never through a shell, and as JSON in a file and on its input', async () => {
    const script = 'echo "$0"; cat "$MUSTER_TASK_FILE"; echo; cat; echo; pwd; echo $MUSTER_TASK_ID $MUSTER_QUEUE';
    const at = await start({ p: { program: '/bin/sh', args: ['-c', script, '{name}'], stdin: true } });
    at.assign('a', 'p', { name: '$(id); `id` "', n: 1 });
    const json = '{"name":"$(id); `id` \\"","n":1}';
    const { stdout } = await at.result('a');
    const [first, file, input, dir, ids] = (stdout ?? '').split('\n');
    expect([first, file, input, ids]).toEqual(['$(id); `id` "', json, json, 'a resize']);
    expect(dir).toContain(join(place.dir, 'tasks', 'work'));
  });
  it('finds its working directory empty, and leaves none of it behind', async () => {
    const at = await start({ p: sh('ls -A; echo mine > file; mkdir dir; echo nobody > dir/other') }, { max: 1 });
    for (const id of ['a', 'b', 'c']) at.assign(id, 'p');
    for (const id of ['a', 'b', 'c']) expect((await at.result(id)).stdout).toBe('params.json\n');
    await expect.poll(() => readdir(join(place.dir, 'tasks', 'work'))).toEqual([]);
  });
  it('whose parameter is missing fails with its name, and never runs', async () => {
    const at = await start({ p: { program: '/bin/echo', args: ['{region}'] } });
    at.assign('a', 'p');
    expect((await at.result('a')).reason).toContain("parameter 'region' is missing");
  });
  it('that is not there fails its task', async () => {
    const at = await start({ p: { program: '/no/such/program', args: [] } });
    at.assign('a', 'p');
    const result = await at.result('a');
    expect(result).toMatchObject({ status: 2, reason: 'cannot run /no/such/program: no such program or directory' });
  });
  it('gets an environment that is built, not inherited', async () => {
    const at = await start({ p: { program: '/usr/bin/env', args: [], environment: { COLOUR: 'blue' } } });
    at.assign('a', 'p');
    const { stdout } = await at.result('a');
    expect(stdout).toContain('COLOUR=blue');
    expect(stdout).toContain('MUSTER_NODE_NAME=node1');
    expect(stdout).not.toContain('VITEST');
  });
  it('tells its progress on the third descriptor', async () => {
    const at = await start({ p: sh('echo "::progress 40 reading" >&3; sleep 1') });
    at.assign('a', 'p');
    expect(await at.heard('a', 'progress')).toMatchObject({ fraction: 0.4, text: 'reading' });
  });
});

describe('a program with a user of its own', () => {
  it('runs as that user where the agent may do that, in a directory of that user; else its task says why not', async () => {
    await chmod(place.dir, 0o711);
    const at = await start({
      p: sh('id -un; touch file && stat -c %U . file; cat "$MUSTER_TASK_FILE"', { user: 'nobody' }),
    });
    at.assign('a', 'p');
    const result = await at.result('a');
    if (process.getuid?.() === 0) expect(result).toMatchObject({ stdout: 'nobody\nnobody\nnobody\n{}' });
    else expect(result.reason).toBe("the agent may not run tasks as 'nobody'");
  });
  it('that does not exist fails its task', async () => {
    const at = await start({ p: sh('true', { user: 'no-such-user' }) });
    at.assign('a', 'p');
    expect((await at.result('a')).reason).toBe("user 'no-such-user' does not exist on this node");
  });
});

describe('limits of a plugin', () => {
  it('are kept by a control group; where there are none, its tasks say so and do not run', async () => {
    const at = await start({ p: sh('cat /proc/self/cgroup', { limits: { pids: 50 } }) });
    at.assign('a', 'p');
    const result = await at.result('a');
    if (result.status === 1) expect(result.stdout).toContain('/muster-');
    else expect(result.reason).toMatch(/^(the limits of its plugin cannot be kept on this node: |cannot run )/);
  });

  it('end a task that takes more memory than it may; where the kernel offers no such limit, it is never begun', async () => {
    const began = join(place.dir, 'began');
    // `tail` holds all that it may have to print.
    const greedy = `touch ${began}; head -c 256M /dev/zero | tail -c 256M | wc -c`;
    const at = await start({ p: sh(greedy, { limits: { memory: 32 * 1024 * 1024 } }) });
    at.assign('a', 'p');
    const result = await at.result('a');
    expect(result.status).toBe(2);
    expect(result.stdout ?? '').not.toContain(String(256 * 1024 * 1024));
    const kept = await groupOf('self')
      .then((group) => group.read('cgroup.controllers'))
      .then((offered) => offered.split(/\s+/).includes('memory'))
      .catch(() => false);
    if (!kept) {
      expect(result.reason).toMatch(
        /^(the limits of its plugin cannot be kept on this node|cannot run .*: its limits)/,
      );
      expect(existsSync(began)).toBe(false);
    }
  });
});

describe('output of a task', () => {
  it('of one that goes on is streamed live', async () => {
    const at = await start({ p: sh(`echo first; while [ ! -e ${file('go')} ]; do sleep 0.05; done; echo last`) });
    at.assign('a', 'p');
    await expect.poll(() => at.outputOf('a')).toBe('first\n');
    expect(at.eventsOf('a')).toEqual(['started']);
    await writeFile(file('go'), '');
    const { result } = await at.heard('a', 'finished');
    expect(result).toMatchObject({ stdout: null, bytes: { stdout: 11, stderr: 0 } });
    expect(at.outputOf('a')).toBe('first\nlast\n');
  });
  it('that is no text is streamed', async () => {
    const at = await start({ p: sh(String.raw`printf '\377\376'`), q: sh(String.raw`printf 'a\000b'`) });
    at.assign('a', 'p');
    at.assign('b', 'q');
    expect((await at.heard('a', 'finished')).result).toMatchObject({ stdout: null, bytes: { stdout: 2, stderr: 0 } });
    expect((await at.heard('b', 'finished')).result).toMatchObject({ stdout: null, bytes: { stdout: 3, stderr: 0 } });
    expect(at.outputOf('a')).toBe('\xff\xfe');
    expect(at.outputOf('b')).toBe('a\0b');
  });
  it('that is too long for a message is streamed, all of it', async () => {
    const at = await start({ p: sh('yes 0123456789 | head -c 900000') });
    at.assign('a', 'p');
    expect((await at.heard('a', 'finished')).result.bytes).toEqual({ stdout: 900_000, stderr: 0 });
    expect(at.outputOf('a')).toHaveLength(900_000);
  });
  it('beyond its limit keeps the beginning and the end, and tells how much there was', async () => {
    const at = await start({ p: sh('head -c 50000000 /dev/zero; echo end') });
    at.assign('a', 'p', {}, { outputLimit: 100_000 });
    expect((await at.heard('a', 'finished')).result.bytes).toEqual({ stdout: 50_000_004, stderr: 0 });
    expect(at.outputOf('a').endsWith('end\n')).toBe(true);
  });
  it('keeps its end waiting until the server has it', async () => {
    const at = await start({ p: sh('head -c 100000 /dev/zero'), q: sh('true') }, { max: 1 });
    at.storing = false;
    at.assign('a', 'p');
    await expect.poll(() => at.outputOf('a').length).toBe(100_000);
    // It takes no slot meanwhile.
    at.assign('b', 'q');
    await at.heard('b', 'finished');
    expect(at.eventsOf('a')).toEqual(['started']);
    at.slot.receive({ type: 'task_output_stored', id: 'a', attempt: 1, stream: 'stdout', offset: 100_000 });
    await at.heard('a', 'finished');
  });
});

describe('ending a task', () => {
  it('a time limit ends it with all its processes', async () => {
    const at = await start({ p: sh('sleep 1234.5 & sleep 1234.5', { timeout: 0.3 }) });
    at.assign('a', 'p');
    const result = await at.result('a');
    expect(result).toMatchObject({ status: 2, retry: false, signal: 'SIGTERM' });
    expect(result.reason).toBe('it took longer than its limit of 0.3 s, and was ended');
    expect(await alive('1234.5')).toEqual([]);
  });
  it('the limit of the task counts beside that of the plugin', async () => {
    const at = await start({ p: sh('sleep 100', { timeout: '1h' }) });
    at.assign('a', 'p', {}, { timeoutSeconds: 0.1 });
    expect((await at.result('a')).reason).toContain('0.1 s');
  });
  it('one that ignores TERM is killed, and told as forced', async () => {
    const at = await start({ p: sh('trap "" TERM; echo up; while :; do sleep 0.1; done') }, {}, 0.3);
    at.assign('a', 'p');
    await expect.poll(() => at.outputOf('a')).toBe('up\n');
    at.cancel({ id: 'a', attempt: 1 });
    expect(await at.heard('a', 'cancelled')).toMatchObject({ forced: true, bytes: { stdout: 3, stderr: 0 } });
  });
  it('what forked away, into a session of its own and without a parent, is killed too', async () => {
    const at = await start({ p: sh('setsid sh -c "(sleep 2345.6 &) ; exec sleep 2345.6" & echo up; sleep 2345.6') });
    at.assign('a', 'p');
    await expect.poll(() => at.outputOf('a')).toBe('up\n');
    await expect.poll(async () => (await alive('2345.6')).length).toBeGreaterThanOrEqual(3);
    at.cancel({ id: 'a', attempt: 1 });
    expect(await at.heard('a', 'cancelled')).toMatchObject({ forced: false });
    expect(await alive('2345.6')).toEqual([]);
  });
  it('one that waits is cancelled at once, and never runs', async () => {
    const at = await start({ p: sh('sleep 60') }, { max: 1 });
    at.assign('a', 'p');
    at.assign('b', 'p');
    at.cancel({ id: 'b', attempt: 1 });
    expect(await at.heard('b', 'cancelled')).toMatchObject({ forced: false, bytes: null, durationMs: 0 });
    expect(at.eventsOf('b')).toEqual(['cancelled']);
  });
});

describe('an agent that is killed', () => {
  it('leaves its tasks running, and the next one tells how they ended, with their output', async () => {
    const script = `echo first; while [ ! -e ${file('go')} ]; do sleep 0.05; done; echo last`;
    const plugins = { p: sh(script), q: sh('echo short') };
    const at = await start(plugins);
    at.assign('a', 'p');
    await expect.poll(() => at.outputOf('a')).toBe('first\n');
    at.storing = false;
    at.assign('b', 'q');
    await at.heard('b', 'finished');
    at.vanish();

    const next = await start(plugins);
    expect(next.reports.find(({ type }) => type === 'task_inventory')).toBeUndefined();
    expect(await next.result('b')).toMatchObject({ status: 1, stdout: 'short\n' });
    expect(next.reports[1]).toEqual({
      type: 'task_inventory',
      held: expect.arrayContaining([
        { id: 'a', attempt: 1, state: 'running' },
        { id: 'b', attempt: 1, state: 'ended' },
      ]),
    });
    // The server assigns again what it is not sure of: it does not run twice.
    next.assign('a', 'p');
    await writeFile(file('go'), '');
    expect((await next.heard('a', 'finished')).result.bytes).toEqual({ stdout: 11, stderr: 0 });
    // What the server had stored already is not sent again.
    expect(next.outputOf('a')).toBe('last\n');
  });
  it('a host that was killed meanwhile has left nothing running, and nothing is held', async () => {
    const at = await start({ p: sh('sleep 3456.7') });
    at.assign('a', 'p');
    await at.heard('a', 'started');
    at.vanish();
    for (const pid of await hostPids()) process.kill(pid, 'SIGKILL');

    const next = await start({ p: sh('true') });
    expect(await alive('3456.7')).toEqual([]);
    next.assign('b', 'p');
    await next.heard('b', 'finished');
    expect(next.reports.find(({ type }) => type === 'task_inventory')).toEqual({ type: 'task_inventory', held: [] });
  });
});

describe('an agent that is stopped', () => {
  it('leaves no host behind that has nothing', async () => {
    const at = await start({ p: sh('true') });
    at.assign('a', 'p');
    await at.heard('a', 'finished');
    await expect.poll(async () => (await hostPids()).length).toBe(1);
    at.vanish();
    await expect.poll(() => readdir(join(place.dir, 'tasks', 'hosts'))).toEqual([]);
  });
  it('while a host is being started, it gets its tasks, and nothing keeps the agent from ending', async () => {
    const plugins = { p: sh(`echo done; touch ${file('ran')}`) };
    const pipes = () => process.getActiveResourcesInfo().filter((what) => what === 'PipeWrap').length;
    const before = pipes();
    const at = await start(plugins);
    at.assign('a', 'p');
    await expect.poll(() => readdir(join(place.dir, 'tasks', 'hosts'))).toHaveLength(1);
    at.vanish();
    await expect.poll(() => readdir(place.dir)).toContain('ran');
    await expect.poll(pipes).toBe(before);
    const next = await start(plugins);
    const { result } = await next.heard('a', 'finished');
    expect(result.status).toBe(1);
    // On a slow machine it took so long that its output is streamed.
    expect(result.stdout ?? next.outputOf('a')).toBe('done\n');
  });
});

describe('a host that is killed', () => {
  it('its tasks are lost, and what they had started is ended before that is told', async () => {
    const at = await start({ p: sh('setsid sleep 4567.8 & sleep 4567.8') });
    at.assign('a', 'p');
    await at.heard('a', 'started');
    await expect.poll(async () => (await alive('4567.8')).length).toBeGreaterThanOrEqual(2);
    for (const pid of await hostPids()) process.kill(pid, 'SIGKILL');
    expect((await at.heard('a', 'lost')).reason).toBe('the process that watched it ended (SIGKILL)');
    expect(await alive('4567.8')).toEqual([]);
    // And the next task gets another host.
    at.assign('b', 'p', {}, { timeoutSeconds: 0.1 });
    await at.heard('b', 'finished');
  });
});

async function hostPids(): Promise<number[]> {
  const hosts = join(place.dir, 'tasks', 'hosts');
  const texts = (await readdir(hosts)).map((name) => readFile(join(hosts, name, 'pid'), 'utf8'));
  return (await Promise.all(texts)).map((text) => Number(text.split(' ')[0]));
}
