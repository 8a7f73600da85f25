import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { systemClock } from '@muster/base';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { CgroupsUnusable, ControlGroup, groupOf, groupPath } from '../../src/execution/cgroup.js';
import {
  CommandGroups,
  handOut,
  leftoverGroup,
  openCommandGroups,
  requireControllers,
} from '../../src/execution/command-groups.js';
import type { Run } from '../../src/execution/process-tree.js';
import { limitFiles } from '../../src/execution/run-limits.js';
import { systemProcesses } from '../../src/execution/system-processes.js';
import { scratch, silent } from '../support/agent.js';

let place: Awaited<ReturnType<typeof scratch>>;
beforeEach(async () => {
  place = await scratch();
});
afterEach(() => place.dispose());

/** Null on a machine without cgroup v2 that may be used; what is promised then is another thing, and tested here, too. */
async function groupsHere(): Promise<CommandGroups | null> {
  try {
    return await openCommandGroups({ dataDir: place.dir, limits: undefined, logger: silent });
  } catch (error) {
    expect(error).toBeInstanceOf(CgroupsUnusable);
    expect(String(error)).toMatch(/cgroup|control group|move processes/);
    return null;
  }
}

async function isAlive(pid: number): Promise<boolean> {
  const state = (await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '')).split(') ')[1]?.[0];
  return state !== undefined && state !== 'Z';
}

const ESCAPE = `env -i PATH="$PATH" setsid sh -c '(sleep 300 >/dev/null & echo $!)'`;
/** Three processes, each with a session of its own, a dead parent and an environment without the marker. */
const ESCAPES = `${ESCAPE}; ${ESCAPE}; ${ESCAPE}; echo up; exec sleep 60`;

async function start(groups: CommandGroups | null, script: string, until: string) {
  const run = randomUUID();
  let text = '';
  const command = await systemProcesses(groups).launch(
    {
      run,
      file: '/bin/sh',
      args: ['-c', script],
      cwd: undefined,
      env: { PATH: '/usr/bin:/bin', MUSTER_RUN: run },
      account: null,
      capture: true,
    },
    systemClock,
    (_stream, data) => {
      text += Buffer.from(data).toString();
    },
  );
  await vi.waitFor(() => expect(text).toContain(until), { timeout: 60_000 });
  const pids = text.split('\n').map(Number).filter(Boolean);
  onTestFinished(async () => {
    for (const pid of pids) if (await isAlive(pid)) process.kill(pid, 'SIGKILL');
  });
  return { run, command, pids };
}

function kill(
  groups: CommandGroups | null,
  run: Pick<Run, 'leader' | 'marker'>,
  graceMs = 200,
  group = groups?.of(run.marker) ?? null,
): Promise<boolean> {
  return systemProcesses(groups).killRun({ ...run, group }, systemClock, graceMs);
}

const survivors = async (pids: number[]) => {
  const alive = await Promise.all(pids.map(isAlive));
  return alive.filter(Boolean).length;
};

describe('a command in a control group of its own', () => {
  it('does not escape its kill by new sessions, dead parents and emptied environments; without one it does', async () => {
    const groups = await groupsHere();
    const { run, command, pids } = await start(groups, ESCAPES, 'up');
    expect(await survivors(pids)).toBe(3);
    await kill(groups, { leader: command.pid, marker: run });
    expect(await survivors(pids)).toBe(groups === null ? 3 : 0);
    if (groups !== null) expect(await groups.base.children()).not.toContainEqual(groups.of(run));
  });
  it('switched off, the kill reaches the command, and what escaped in all three ways lives on', async () => {
    const { run, command, pids } = await start(null, ESCAPES, 'up');
    await kill(null, { leader: command.pid, marker: run });
    expect(await isAlive(command.pid)).toBe(false);
    expect(await survivors(pids)).toBe(3);
  });
  it('is killed by the agent that starts after a crash, which knows the run alone', async () => {
    const before = await groupsHere();
    const { run, pids } = await start(before, ESCAPES, 'up');
    const after = await groupsHere();
    await kill(after, { leader: null, marker: run });
    expect(await survivors(pids)).toBe(after === null ? 3 : 0);
  });
  it('the agent is where it was once the command runs', async () => {
    const before = await readFile('/proc/self/cgroup', 'utf8');
    const { run, command } = await start(await groupsHere(), 'echo up; exec sleep 60', 'up');
    expect(await readFile('/proc/self/cgroup', 'utf8')).toBe(before);
    await kill(null, { leader: command.pid, marker: run }, 0);
  });
  it('what it leaves behind on purpose lives on, and its group goes when that has ended', async () => {
    const groups = await groupsHere();
    const { run, command, pids } = await start(groups, 'sleep 300 >/dev/null 2>&1 & echo $!', '\n');
    expect(await command.ended).toEqual({ exitCode: 0, signal: null });
    const again = await groupsHere();
    expect(await survivors(pids)).toBe(1);
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    if (again === null) return;
    await vi.waitFor(async () => expect(await again.of(run).populated()).toBe(false), { timeout: 60_000 });
    await groupsHere();
    expect(await again.base.children()).not.toContainEqual(again.of(run));
  });
});

describe('the group that a crashed agent noted', () => {
  /** Below which another unit, or another delegation, would have had its commands. */
  async function elsewhere(here: CommandGroups): Promise<CommandGroups> {
    const base = here.base.child(`elsewhere-${randomUUID()}`);
    base.make();
    onTestFinished(async () => {
      await vi.waitFor(async () => expect(await base.remove()).toBe(true), { timeout: 60_000 });
    });
    const prefix = basename(here.of('').path);
    return new CommandGroups(base, { home: here.base, prefix, limits: [], logger: silent });
  }

  it('is found and killed wherever the agent is now, also where it has no groups any more', async () => {
    const here = await groupsHere();
    if (here === null) return expect(groupsHere()).resolves.toBeNull();
    for (const now of [here, null]) {
      const before = await elsewhere(here);
      const { run, pids } = await start(before, ESCAPES, 'up');
      expect(await kill(now, { leader: null, marker: run })).toBe(true);
      expect(await survivors(pids)).toBe(3);
      const left = await leftoverGroup(place.dir, { run, group: before.of(run).path });
      expect(left).toEqual(before.of(run));
      await kill(now, { leader: null, marker: run }, 200, left);
      expect(await survivors(pids)).toBe(0);
    }
  });
  it('is no group of another run or another agent, no other place of its name, and not the agent’s own', async () => {
    const here = await groupsHere();
    if (here === null) return expect(groupsHere()).resolves.toBeNull();
    const before = await elsewhere(here);
    const run = randomUUID();
    const group = await before.make(run);
    const lookAt = (path: string | null, dataDir = place.dir) => leftoverGroup(dataDir, { run, group: path });
    expect(await lookAt(group.path)).toEqual(group);
    expect(await lookAt(null)).toBeNull();
    expect(await lookAt(here.base.path)).toBeNull();
    expect(await lookAt(before.base.path)).toBeNull();
    expect(await lookAt((await before.make(randomUUID())).path)).toBeNull();
    expect(await lookAt(group.path, tmpdir())).toBeNull();
    const pretended = join(place.dir, basename(group.path));
    await mkdir(pretended);
    expect(await lookAt(pretended)).toBeNull();
    const link = join(await mkdtemp(join(place.dir, 'links-')), basename(group.path));
    await symlink(here.base.path, link);
    expect(await lookAt(link)).toBeNull();
    group.enter(process.pid);
    try {
      expect(await lookAt(group.path)).toBeNull();
    } finally {
      here.base.enter(process.pid);
    }
    expect(await lookAt(group.path)).toEqual(group);
    await group.remove();
    expect(await lookAt(group.path)).toBeNull();
  });
});

describe('limits', () => {
  it('are written as the kernel reads them', () => {
    expect(limitFiles({ memory: 2 ** 29, cpu: 1.5, pids: 100 })).toEqual([
      { controller: 'memory', file: 'memory.max', text: '536870912' },
      { controller: 'cpu', file: 'cpu.max', text: '150000 100000' },
      { controller: 'pids', file: 'pids.max', text: '100' },
    ]);
    expect(limitFiles({})).toEqual([]);
  });
  it('whose controller the group does not have are refused by name', async () => {
    const groups = await groupsHere();
    if (groups === null) return expect(groupsHere()).resolves.toBeNull();
    await expect(requireControllers(groups.base, ['nonesuch'])).rejects.toThrow(
      /does not have: nonesuch \(cgroup.contr/,
    );
  });
  it('are handed out by a group that the agent has for itself, and not by one it shares', async () => {
    const groups = await groupsHere();
    if (groups === null) return expect(groupsHere()).resolves.toBeNull();
    const [controller] = (await groups.base.read('cgroup.subtree_control')).trim().split(' ');
    const group = groups.of('delegated');
    group.make();
    const agent = spawn('sleep', ['60']);
    const other = spawn('sleep', ['60']);
    onTestFinished(async () => {
      for (const child of [agent, other]) child.kill('SIGKILL');
      await Promise.all([once(agent, 'exit'), once(other, 'exit')]);
      expect(await group.remove()).toBe(true);
    });
    for (const { pid = 0 } of [agent, other]) group.enter(pid);
    const controllers = controller ? [controller] : [];
    await expect(handOut(group, agent.pid ?? 0, controllers)).rejects.toThrow(
      /other processes live in .+ not delegated/,
    );
    groups.base.enter(other.pid ?? 0);
    await handOut(group, agent.pid ?? 0, controllers);
    expect(await group.members()).toEqual([]);
    expect(await group.child('muster-agent').members()).toEqual([agent.pid]);
    expect((await group.read('cgroup.subtree_control')).trim()).toBe(controllers.join(' '));
    // The group below which commands get theirs is still the same.
    if (agent.pid !== undefined) expect(await groupOf(agent.pid)).toEqual(new ControlGroup(group.path));
  });
});

describe('the group of a process', () => {
  const mount = (root: string, at: string) => `31 23 0:28 ${root} ${at} rw - cgroup2 cgroup2 rw\n`;

  it('is found by its mount', () => {
    expect(groupPath(mount('/', '/sys/fs/cgroup'), '0::/system.slice/muster-agent.service\n')).toBe(
      '/sys/fs/cgroup/system.slice/muster-agent.service',
    );
    expect(groupPath(mount('/', '/sys/fs/cgroup/unified'), '9:cpu:/x\n0::/\n')).toBe('/sys/fs/cgroup/unified');
    expect(groupPath(mount('/docker/c1', '/c\\040g'), '0::/docker/c1/a\n')).toBe('/c g/a');
  });
  it('is the one above the leaf that the agent made for itself', () => {
    expect(groupPath(mount('/', '/sys/fs/cgroup'), '0::/a/muster-agent\n')).toBe(join('/sys/fs/cgroup', 'a'));
  });
  it('is told to be missing without cgroup v2, and outside of what is mounted', () => {
    expect(() => groupPath('31 23 0:28 / /c rw - cgroup cgroup rw\n', '9:cpu:/\n')).toThrow(/no cgroup v2/);
    expect(() => groupPath('', '0::/\n')).toThrow(/no cgroup v2/);
    expect(() => groupPath(mount('/docker/c1', '/c'), '0::/docker/c2\n')).toThrow(/not in the cgroup v2 hierarchy/);
    expect(() => groupPath(mount('/', '/c'), '0::/../x\n')).toThrow(/not in the cgroup v2 hierarchy/);
  });
});
