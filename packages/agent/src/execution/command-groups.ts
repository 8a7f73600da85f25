import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { basename } from 'node:path';
import type { AgentLog } from '../logging.js';
import { AGENT_LEAF, CgroupsUnusable, type ControlGroup, controlGroupAt, groupOf } from './cgroup.js';
import { type LimitFile, limitFiles, type RunLimits } from './run-limits.js';
import type { NotedRun } from './run-note.js';

/** The control groups of an agent's commands, one a run, all below the agent's own. */
export class CommandGroups {
  readonly base: ControlGroup;
  /** Where the agent itself is. */
  readonly #home: ControlGroup;
  readonly #prefix: string;
  readonly #limits: readonly LimitFile[];
  readonly #logger: AgentLog;
  /** Their command has ended, but a daemon it started lives on in them. */
  readonly #inhabited = new Set<ControlGroup>();

  constructor(
    base: ControlGroup,
    around: {
      readonly home: ControlGroup;
      readonly prefix: string;
      readonly limits: readonly LimitFile[];
      readonly logger: AgentLog;
    },
  ) {
    this.base = base;
    this.#home = around.home;
    this.#prefix = around.prefix;
    this.#limits = around.limits;
    this.#logger = around.logger;
  }

  of(run: string): ControlGroup {
    return this.base.child(this.#prefix + run);
  }

  async make(run: string): Promise<ControlGroup> {
    for (const group of this.#inhabited) await this.leave(group);
    const group = this.of(run);
    group.make();
    return group;
  }

  /**
   * Does `start`, which forks at once, with the agent inside of the group: the child is born there, before it has run
   * an instruction. A child that were moved, or moved itself, would have to be trusted until then; and a wrapper that
   * moves itself would be a shell that runs as root in the environment of the job. The agent is back before anything
   * else of it runs.
   */
  bear<T>(group: ControlGroup, start: () => T): T {
    group.enter(process.pid);
    try {
      return start();
    } finally {
      this.#home.enter(process.pid);
    }
  }

  /** Before the start: nothing is begun that could not be limited then. @throws CgroupsUnusable */
  async assertLimitable(group: ControlGroup, limits: readonly LimitFile[] = this.#limits): Promise<void> {
    for (const { file, controller } of limits) {
      if (await group.has(file)) continue;
      throw new CgroupsUnusable(`its limits cannot be kept: the kernel offers no ${controller} in ${this.base.path}`);
    }
  }

  /** Only after the start: a limit on processes counts the agent's threads as long as it is in the group. */
  async limit(group: ControlGroup, limits: readonly LimitFile[] = this.#limits): Promise<void> {
    for (const { file, text } of limits) await group.write(file, text);
  }

  /** After its command has ended. What the command has left behind on purpose, as a service it started, stays alive. */
  async leave(group: ControlGroup): Promise<void> {
    try {
      if (await group.remove()) this.#inhabited.delete(group);
      else this.#inhabited.add(group);
    } catch (error) {
      this.#logger.warn(
        { err: error, group: group.path },
        'a control group that is not needed any more cannot be removed',
      );
    }
  }

  /** At the start: groups of the agent that was before, as far as nothing lives in them. */
  async sweep(): Promise<void> {
    for (const group of await this.base.children()) {
      if (group.path.startsWith(this.of('').path)) await this.leave(group);
    }
  }
}

export interface GroupsRequest {
  readonly dataDir: string;
  readonly limits: RunLimits | undefined;
  /** Limits that other groups below the agent's own will have: those of tasks. */
  readonly further?: readonly RunLimits[];
  /** The process that watches over the agent, and moves with it. */
  readonly supervisor?: number | null;
  readonly logger: AgentLog;
}

/**
 * Finds out, by doing it, whether commands can get control groups of their own, and makes ready what the limits need.
 * Throws CgroupsUnusable, which says why not.
 */
export async function openCommandGroups({
  dataDir,
  limits,
  further = [],
  supervisor = null,
  logger,
}: GroupsRequest): Promise<CommandGroups> {
  const base = await groupOf('self');
  await probe(base, process.pid);
  const files = limitFiles(limits ?? {});
  const controllers = new Set(controllersOf([...files, ...further.flatMap(limitFiles)]));
  if (controllers.size > 0) await handOut(base, process.pid, [...controllers], supervisor);
  const leaf = base.child(AGENT_LEAF);
  const home = (await leaf.members()).includes(process.pid) ? leaf : base;
  const prefix = await prefixOf(dataDir);
  const groups = new CommandGroups(base, { home, prefix, limits: files, logger });
  enterAndLeave(groups, await groups.make('probe'));
  await groups.sweep();
  return groups;
}

/**
 * The group that a crashed agent noted for its command, wherever this agent is now. Null when it is gone, or is not one that
 * an agent of this data directory made for that run, or when this agent itself lives in it, started by the command.
 */
export async function leftoverGroup(
  dataDir: string,
  { run, group: path }: Pick<NotedRun, 'run' | 'group'>,
): Promise<ControlGroup | null> {
  const group = path === null ? null : await controlGroupAt(path);
  if (group === null || basename(group.path) !== (await prefixOf(dataDir)) + run) return null;
  return (await group.processes()).includes(process.pid) ? null : group;
}

/** Several agents may share one group; the data directory belongs to one at a time. */
async function prefixOf(dataDir: string): Promise<string> {
  const digest = createHash('sha256')
    .update(await realpath(dataDir))
    .digest('hex');
  return `muster-${digest.slice(0, 12)}-`;
}

/** What the agent of process `pid` could do in its group; makes an empty group for a moment. Throws CgroupsUnusable. */
export async function probe(base: ControlGroup, pid: number): Promise<void> {
  const group = base.child(`muster-probe-${pid}-${process.pid}`);
  try {
    group.make();
  } catch (error) {
    throw new CgroupsUnusable(`no control group can be made in ${base.path} (${reasonOf(error)})`);
  }
  const { canKill } = group;
  await group.remove();
  if (!canKill) throw new CgroupsUnusable('the kernel is older than Linux 5.14 and has no cgroup.kill');
}

function enterAndLeave(groups: CommandGroups, group: ControlGroup): void {
  try {
    groups.bear(group, () => undefined);
  } catch (error) {
    throw new CgroupsUnusable(`the agent may not move processes within ${groups.base.path} (${reasonOf(error)})`);
  }
}

export function controllersOf(files: readonly LimitFile[]): string[] {
  return files.map(({ controller }) => controller);
}

/** Throws CgroupsUnusable when the kernel does not offer one of them in this group. */
export async function requireControllers(base: ControlGroup, controllers: readonly string[]): Promise<void> {
  const offered = (await base.read('cgroup.controllers')).trim().split(' ').filter(Boolean);
  const missing = controllers.filter((controller) => !offered.includes(controller));
  if (missing.length === 0) return;
  const there = offered.length === 0 ? 'none' : offered.join(', ');
  throw new CgroupsUnusable(
    `controllers that ${base.path} does not have: ${missing.join(', ')} (cgroup.controllers: ${there})`,
  );
}

/**
 * Lets the groups below `base` have these controllers. A group that hands controllers out may hold no process itself
 * (cgroups(7), no internal processes), so the agent moves into a leaf; and only a group that nobody else lives in is
 * the agent's to do this with, as the one systemd makes for a unit with `Delegate=yes`. Throws CgroupsUnusable.
 */
export async function handOut(
  base: ControlGroup,
  pid: number,
  controllers: readonly string[],
  supervisor: number | null = null,
): Promise<void> {
  await requireControllers(base, controllers);
  const members = await base.members();
  const others = members.filter((member) => member !== pid && member !== supervisor);
  if (others.length > 0) {
    throw new CgroupsUnusable(`other processes live in the agent's control group ${base.path}: it was not delegated`);
  }
  const leaf = base.child(AGENT_LEAF);
  try {
    leaf.make();
    leaf.enter(pid);
    if (supervisor !== null && members.includes(supervisor)) leaf.enter(supervisor);
    await base.write('cgroup.subtree_control', controllers.map((controller) => `+${controller}`).join(' '));
  } catch (error) {
    throw new CgroupsUnusable(`${base.path} does not hand out ${controllers.join(', ')} (${reasonOf(error)})`);
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
