import { mkdirSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { access, readdir, readFile, realpath, statfs, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** The group below its own that the agent moves into when its own has limits to hand out; see command-groups.ts. */
export const AGENT_LEAF = 'muster-agent';

/** What statfs(2) says of a cgroup v2 hierarchy. */
const CGROUP2_SUPER_MAGIC = 0x63677270;

/** Why control groups cannot be used here, in words for the owner of the node. */
export class CgroupsUnusable extends Error {
  override readonly name = 'CgroupsUnusable';
}

/**
 * A control group (cgroup v2): a directory whose files the kernel keeps. A process is born into the group of its parent
 * and cannot leave it by `setsid`, by a dead parent or by an emptied environment; only who may write to both groups can
 * move it.
 */
export class ControlGroup {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  child(name: string): ControlGroup {
    return new ControlGroup(join(this.path, name));
  }

  async children(): Promise<ControlGroup[]> {
    const entries = await unlessGone(readdir(this.path, { withFileTypes: true }), []);
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => this.child(name));
  }

  /** At once, as it is on no disk: to hand it to another thread would take longer than to do it. */
  make(): void {
    mkdirSync(this.path, { recursive: true });
  }

  read(file: string): Promise<string> {
    return readFile(join(this.path, file), 'latin1');
  }

  has(file: string): Promise<boolean> {
    return access(join(this.path, file)).then(
      () => true,
      () => false,
    );
  }

  async write(file: string, text: string): Promise<void> {
    await writeFile(join(this.path, file), text);
  }

  /** Moves a process with all its threads. At once: what it starts next is born here. */
  enter(pid: number): void {
    writeFileSync(join(this.path, 'cgroup.procs'), String(pid));
  }

  /** Whether `cgroup.kill` is there (Linux 5.14). The root of a hierarchy has none. */
  get canKill(): boolean {
    return readdirSync(this.path).includes('cgroup.kill');
  }

  /** Those in this group alone. */
  async members(): Promise<number[]> {
    const text = await unlessGone(this.read('cgroup.procs'), '');
    // 0 is a process of another process namespace, which cannot be named here.
    return text.split('\n').map(Number).filter(Boolean);
  }

  /** Those in this group and below it: a command may make groups of its own. */
  async processes(): Promise<number[]> {
    const below = await Promise.all((await this.children()).map((child) => child.processes()));
    return [...(await this.members()), ...below.flat()];
  }

  /** Whether anything lives here or below; false when the group is gone. */
  async populated(): Promise<boolean> {
    return /^populated 1$/m.test(await unlessGone(this.read('cgroup.events'), ''));
  }

  /** SIGKILL to everything here and below, also to what is being forked meanwhile; never to this process. */
  async kill(): Promise<void> {
    const processes = await this.processes();
    if (processes.includes(process.pid)) {
      // It could not move back to its own group after a start: the others are killed one by one.
      for (const pid of processes) if (pid !== process.pid) killOne(pid);
      return;
    }
    await unlessGone(writeFile(join(this.path, 'cgroup.kill'), '1', { flag: 'r+' }), undefined);
  }

  /** False when something still lives in it. A command that made groups of its own is rare: they are looked for last. */
  async remove(): Promise<boolean> {
    if (this.#removeItself()) return true;
    const children = await this.children();
    for (const child of children) if (!(await child.remove())) return false;
    return children.length > 0 && this.#removeItself();
  }

  #removeItself(): boolean {
    try {
      rmdirSync(this.path);
      return true;
    } catch (error) {
      if (hasCode(error, 'EBUSY')) return false;
      if (isGone(error)) return true;
      throw error;
    }
  }
}

/** The control group at this path, whatever the path looks like; null when there is none, or something else. */
export async function controlGroupAt(path: string): Promise<ControlGroup | null> {
  const real = await unlessGone(realpath(path), null);
  const found = real === null ? null : await unlessGone(statfs(real), null);
  return real !== null && found?.type === CGROUP2_SUPER_MAGIC ? new ControlGroup(real) : null;
}

/**
 * The group below which a process' children can get groups of their own: its own one, or that above its leaf.
 * Throws CgroupsUnusable.
 */
export async function groupOf(pid: number | 'self'): Promise<ControlGroup> {
  const [mounts, groups] = await Promise.all([
    readFile('/proc/self/mountinfo', 'utf8').catch(() => ''),
    readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => ''),
  ]);
  return new ControlGroup(groupPath(mounts, groups));
}

/** By the texts of `/proc/self/mountinfo` and `/proc/PID/cgroup` (proc(5), cgroups(7)). Throws CgroupsUnusable. */
export function groupPath(mounts: string, groups: string): string {
  const own = /^0::(\/.*)$/m.exec(groups)?.[1];
  const mounted = mounts
    .split('\n')
    .map((line) => line.split(' '))
    .filter((fields) => fields[fields.indexOf('-') + 1] === 'cgroup2');
  if (own === undefined || mounted.length === 0) throw new CgroupsUnusable('no cgroup v2 hierarchy is mounted');
  for (const [, , , root = '/', mountPoint = ''] of mounted) {
    const inside = root === '/' ? own : own === root || own.startsWith(`${root}/`) ? own.slice(root.length) : null;
    // `/..` stands for what lies outside of the cgroup namespace.
    if (inside === null || inside.split('/').includes('..')) continue;
    const path = join(unescapeMount(mountPoint), inside).replace(/(?<=.)\/$/, '');
    return basename(path) === AGENT_LEAF ? dirname(path) : path;
  }
  throw new CgroupsUnusable(`the agent's control group ${own} is not in the cgroup v2 hierarchy that is mounted`);
}

/** Space, tab, newline and backslash are written as `\040` and so on. */
function unescapeMount(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

function killOne(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!hasCode(error, 'ESRCH')) throw error;
  }
}

/** A group that was removed meanwhile has nothing in it. */
async function unlessGone<T, Empty>(work: Promise<T>, empty: Empty): Promise<T | Empty> {
  try {
    return await work;
  } catch (error) {
    if (isGone(error)) return empty;
    throw error;
  }
}

/** ENODEV: it was removed between the opening of its file and the read. */
function isGone(error: unknown): boolean {
  return hasCode(error, 'ENOENT') || hasCode(error, 'ENODEV');
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
