import { type Account, ownAccount } from './account.js';
import { CgroupsUnusable, type ControlGroup } from './cgroup.js';
import type { CommandGroups } from './command-groups.js';
import { Forker } from './forker.js';
import { killRun } from './process-tree.js';
import { LaunchError, launch } from './runner.js';

/** Another machine, on which commands run. */
export interface Elsewhere {
  /** Why it could run nothing now, or nothing in this directory; looked at when a command is offered. */
  refusal(dir: string | undefined, signal: AbortSignal): Promise<string | null>;
}

/** Where commands run. */
export interface Processes {
  readonly launch: typeof launch;
  readonly killRun: typeof killRun;
  /** The control group that a run gets; null where commands have none. */
  readonly groupOf: (run: string) => ControlGroup | null;
  /**
   * They are processes of another machine, which can be asked nothing but this: what needs its users or files is refused,
   * and the environment of commands is the one that it gives them.
   */
  readonly elsewhere?: Elsewhere;
  /** Whom the agent itself runs as. */
  readonly ownAccount: () => Promise<Account | null>;
}

/** Which of both holds, told at the start and by the doctor. */
export const KILLED_BY_GROUP = 'each in a control group of its own: a kill reaches every process of it';
export const KILLED_BY_TREE =
  'without control groups: a kill reaches all processes but those that leave their session, their parent and their environment';

/** Of this process. */
export const ownForker = new Forker();

/**
 * Commands as processes of this machine, each in a control group of its own where `groups` are to be had. They are
 * started by `forker`; those that it does not start, and all without one, by this process itself.
 */
export function systemProcesses(groups: CommandGroups | null, forker: Forker | null = ownForker): Processes {
  // Whose the agent is does not change while it runs.
  let account: Promise<Account | null> | null = null;
  const own = {
    ownAccount: () => {
      account ??= ownAccount();
      return account;
    },
  };
  if (groups === null) {
    return {
      ...own,
      groupOf: () => null,
      launch: async (request, clock, write) =>
        (await forker?.launch(request, clock, write, null)) ?? launch(request, clock, write),
      killRun,
    };
  }
  return {
    ...own,
    groupOf: (run) => groups.of(run),
    async launch(request, clock, write) {
      const group = await groups.make(request.run).catch((error: unknown) => {
        throw new LaunchError(`cannot make a control group for ${request.file}: ${String(error)}`);
      });
      try {
        await groups.assertLimitable(group, request.limits);
        const command =
          (await forker?.launch(request, clock, write, group)) ??
          (await launch(request, clock, write, (start) => groups.bear(group, start)));
        await groups.limit(group, request.limits);
        void command.ended.then(() => groups.leave(group));
        return command;
      } catch (error) {
        // It must not run without its limits.
        await group.kill();
        await groups.leave(group);
        if (error instanceof LaunchError) throw error;
        const reason = error instanceof CgroupsUnusable ? error.message : String(error);
        throw new LaunchError(`cannot run ${request.file}: ${reason}`);
      }
    },
    async killRun(run, clock, graceMs, giveUp, onKill) {
      const gone = await killRun(run, clock, graceMs, giveUp, onKill);
      if (gone && run.group !== null) await groups.leave(run.group);
      return gone;
    },
  };
}
