import { execFileSync, spawn } from 'node:child_process';
import { chmod, chown, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '@muster/base';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { systemProcesses } from '../../src/execution/system-processes.js';
import { HostProcess } from '../../src/tasks/host-process.js';
import { scratch } from '../support/agent.js';
import { endHosts, TaskNode } from '../support/task-node.js';

/** Only root runs tasks as somebody else. */
const root = process.getuid?.() === 0;
const nobody = root ? Number(execFileSync('id', ['-u', 'nobody'], { encoding: 'utf8' })) : 0;

let place: Awaited<ReturnType<typeof scratch>>;
let node: TaskNode | null;
let secret: string;
let precious: string;
beforeEach(async () => {
  place = await scratch();
  await chmod(place.dir, 0o711);
  node = null;
  secret = join(place.dir, 'secret');
  await writeFile(secret, '{"status":1,"stdout":"secret"}', { mode: 0o600 });
  precious = join(place.dir, 'precious');
  await mkdir(precious, { mode: 0o755 });
  await writeFile(join(precious, 'file'), 'precious');
});
afterEach(async () => {
  node?.vanish();
  await endHosts(join(place.dir, 'tasks'));
  await place.dispose();
});

async function start(plugins: Record<string, unknown>): Promise<TaskNode> {
  node = await TaskNode.start(join(place.dir, 'tasks'), { max: 2, plugins }, { grace: 0.3 });
  return node;
}

const sh = (script: string, more: Record<string, unknown> = {}) => ({
  program: '/bin/sh',
  args: ['-c', script],
  user: 'nobody',
  ...more,
});
const work = () => readdir(join(place.dir, 'tasks', 'work'));

async function expectUntouched(): Promise<void> {
  expect(await readFile(join(precious, 'file'), 'utf8')).toBe('precious');
  expect((await stat(secret)).uid).toBe(0);
  expect(await readFile(secret, 'utf8')).toContain('secret');
}

describe.runIf(root)('a task of another user', () => {
  it('that leaves links, pipes and directories that it has closed is cleared up, and nothing is that they lead to', async () => {
    const script = `rm "$MUSTER_TASK_FILE"; ln -s ${secret} "$MUSTER_TASK_FILE"; ln -s ${precious} link; mkfifo pipe
      mkdir -p a/b/c; touch a/b/c/file; ln -s ${precious} a/b/link; chmod 0555 a/b; chmod 0 a/b/c; echo done`;
    const at = await start({ p: sh(script) });
    at.assign('a', 'p');
    expect(await at.result('a')).toMatchObject({ status: 1, stdout: 'done\n' });
    expect(await work()).toEqual([]);
    await expectUntouched();
  });
  it('that puts a directory in the place of its task file is cleared up', async () => {
    const at = await start({ p: sh('rm "$MUSTER_TASK_FILE"; mkdir "$MUSTER_TASK_FILE"') });
    at.assign('a', 'p');
    await at.heard('a', 'finished');
    expect(await work()).toEqual([]);
  });
  it('that leaves a process behind which goes on to put links into its directory leads nobody anywhere', async () => {
    const swap = `i=0; while [ $i -lt 300 ]; do i=$((i+1)); mkdir -p sub/x; rm -rf sub/x; ln -s ${precious} sub/x; rm -f sub/x; done`;
    const at = await start({ p: sh(`mkdir sub; setsid sh -c '${swap}' > /dev/null 2>&1 &`) });
    for (const id of ['a', 'b', 'c']) at.assign(id, 'p');
    for (const id of ['a', 'b', 'c']) await at.heard(id, 'finished');
    await expectUntouched();
  });
  it('gets a directory that no task had before it', async () => {
    const at = await start({ p: sh('pwd') });
    at.assign('a', 'p');
    const first = (await at.result('a')).stdout;
    at.assign('b', 'p');
    expect((await at.result('b')).stdout).not.toBe(first);
  });
  it('reads its own parameters, whatever it puts in their place', async () => {
    const at = await start({ p: sh(`ln -sf ${secret} "$MUSTER_TASK_FILE"; cat`, { stdin: true }) });
    at.assign('a', 'p', { n: 1 });
    expect((await at.result('a')).stdout).toBe('{"n":1}');
  });
  it.each(['0777', '1777'])(
    'has no working directory where others can put another in its place (mode %s)',
    async (mode) => {
      const temp = join(place.dir, 'temp');
      await mkdir(temp);
      await chmod(temp, Number.parseInt(mode, 8));
      const at = await start({ p: sh('true', { temp_dir: temp }) });
      at.assign('a', 'p');
      const result = await at.result('a');
      expect(result).toMatchObject({ status: 2, exitCode: null });
      expect(result.reason).toContain(`others than the agent can change ${temp}`);
      expect(await readdir(temp)).toEqual([]);
    },
  );
  it('has no working directory below one that belongs to somebody else', async () => {
    const home = join(place.dir, 'home');
    await mkdir(join(home, 'temp'), { recursive: true });
    await chown(home, nobody, nobody);
    const at = await start({ p: sh('true', { temp_dir: join(home, 'temp') }) });
    at.assign('a', 'p');
    expect((await at.result('a')).reason).toContain(`others than the agent can change ${home};`);
  });
  it("has one in a temp_dir that is the agent's alone", async () => {
    const temp = join(place.dir, 'temp');
    await mkdir(temp, { mode: 0o711 });
    const at = await start({ p: sh('pwd; touch file', { temp_dir: temp }) });
    at.assign('a', 'p');
    expect((await at.result('a')).stdout).toContain(temp);
    expect(await readdir(temp)).toEqual([]);
  });
});

describe.runIf(root)('the answer of a task of another user', () => {
  it.each([
    ['a link', 'ln -s SECRET "$answer"', 'too many symbolic links'],
    ['a pipe', 'mkfifo "$answer"', 'is not a regular file'],
    ['a directory', 'mkdir "$answer"', 'is not a regular file'],
    ['longer than is read', 'truncate -s 200M "$answer"', 'is larger than 134217728 bytes'],
  ])('that is %s is none', async (_, script, reason) => {
    const path = join(place.dir, 'plugin');
    const lines = `for last; do :; done; answer="\${last%.json}-response.json"; ${script.replace('SECRET', secret)}`;
    await writeFile(path, `#!/bin/sh\n${lines}\n`, { mode: 0o755 });
    const at = await start({ p: { program: path, user: 'nobody' } });
    at.assign('a', 'p');
    const result = await at.result('a');
    expect(result.status).toBe(2);
    expect(result.stderr).toContain(reason);
    expect(JSON.stringify(result)).not.toContain('"secret"');
    expect(await work()).toEqual([]);
  });
});

describe.runIf(root)('a host process of a module of another user', () => {
  const hosts = () => readdir(join(place.dir, 'tasks', 'hosts'));

  /** One that puts `text` in the place of a file of its directory, which is its own to change, and a link beside it. */
  async function startForged(name: string, text: string): Promise<TaskNode> {
    const module = join(place.dir, 'plugin.mjs');
    const source = `
      import { mkdirSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
      export async function run({ params }, { progress }) {
        if (!params.forge) return;
        const dir = process.argv[2];
        unlinkSync(dir + '/${name}');
        writeFileSync(dir + '/${name}', ${JSON.stringify(text)});
        mkdirSync(dir + '/sub');
        symlinkSync(${JSON.stringify(precious)}, dir + '/sub/link');
        progress(1);
        await new Promise(() => undefined);
      }`;
    await writeFile(module, source);
    const at = await start({ p: { module, user: 'nobody' } });
    at.assign('a', 'p', { forge: true });
    await at.heard('a', 'progress');
    return at;
  }

  it('is ended itself, not the process that it names in its place', async () => {
    const victim = spawn('sleep', ['60']);
    onTestFinished(() => void victim.kill());
    const stat = await readFile(`/proc/${victim.pid}/stat`, 'latin1');
    await startForged('pid', `${victim.pid} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}`);
    const [name = ''] = await hosts();
    const around = { clock: systemClock, processes: systemProcesses(null) };
    await new HostProcess(join(place.dir, 'tasks', 'hosts', name), around).kill();
    await expect.poll(hosts).toEqual([]);
    expect(victim.signalCode).toBeNull();
    expect(victim.exitCode).toBeNull();
    await expectUntouched();
  });
  it('is not taken over by the next agent when it says that it is that of another plugin', async () => {
    const at = await startForged('spec.json', JSON.stringify({ version: 1, key: 'forged', module: null }));
    at.vanish();
    const next = await start({});
    expect(await hosts()).toEqual([]);
    expect(next.news).toEqual([]);
    await expectUntouched();
  });
});
