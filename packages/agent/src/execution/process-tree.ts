import { readdir, readFile } from 'node:fs/promises';
import type { Clock } from '@muster/base';
import { KILL_POLL_MS } from '../limits.js';
import type { ControlGroup } from './cgroup.js';
import { RUN_MARKER } from './environment.js';

/**
 * All processes of one run. A child may leave its process group (setsid) or lose its parent (double fork), so
 * membership is any of: the leader's session or group, a member as parent, or the run's marker in the environment.
 * Only a process that does all three, a new session, a dead parent and an emptied environment, escapes; where commands
 * have control groups (command-groups.ts), none does: what is in the group of the run is a member, too.
 *
 * Without /proc only the process group is known.
 */
export interface Run {
  /** Process id of the first process, which leads its own session and group; null after a crash of the agent. */
  readonly leader: number | null;
  /** Value of MUSTER_RUN in its environment. */
  readonly marker: string;
  /** The marker is but the beginning of it: all runs of one host of tasks. */
  readonly family?: boolean;
  /** Its control group, where commands have one. The agent itself is not in it. */
  readonly group: ControlGroup | null;
}

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
}

/** `pid (comm) state ppid pgrp session …`; comm may hold spaces and parentheses. */
const STAT = /^(\d+) \(.*\) (\S) (\d+) (\d+) (\d+) /s;
/** Zombie and dead: gone, only not collected by their parent yet. */
const GONE = new Set(['Z', 'X', 'x']);

async function processes(): Promise<Process[]> {
  const names = await readdir('/proc').catch((): string[] => []);
  const found: Process[] = [];
  for (const name of names) {
    if (!/^\d+$/.test(name)) continue;
    const stat = STAT.exec(await readFile(`/proc/${name}/stat`, 'latin1').catch(() => ''));
    if (stat === null || GONE.has(stat[2] ?? '')) continue;
    found.push({ pid: Number(stat[1]), parent: Number(stat[3]), group: Number(stat[4]), session: Number(stat[5]) });
  }
  return found;
}

async function carriesMarker(pid: number, { marker, family = false }: Run): Promise<boolean> {
  const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
  const mark = `${RUN_MARKER}=${marker}`;
  return environment.split('\0').some((variable) => (family ? variable.startsWith(mark) : variable === mark));
}

/** Process ids of the run that are alive now. `known` are members seen earlier: their children belong as well. */
export async function membersOf(run: Run, known: ReadonlySet<number> = new Set()): Promise<Set<number>> {
  const all = await processes();
  if (all.length === 0) return groupOnly(run);
  const members = new Set(await run.group?.processes());
  members.delete(process.pid);
  for (const { pid, group, session } of all) {
    if (pid === process.pid) continue;
    const ofLeader = run.leader !== null && (pid === run.leader || group === run.leader || session === run.leader);
    if (ofLeader || (await carriesMarker(pid, run))) members.add(pid);
  }
  for (let grown = true; grown; ) {
    grown = false;
    for (const { pid, parent } of all) {
      if (members.has(pid) || !(members.has(parent) || known.has(parent)) || pid === process.pid) continue;
      members.add(pid);
      grown = true;
    }
  }
  return members;
}

function groupOnly(run: Run): Set<number> {
  if (run.leader === null || !signal(-run.leader, 0)) return new Set();
  return new Set([-run.leader]);
}

function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch {
    // Gone between the look and the signal, or not ours to signal.
    return false;
  }
}

/**
 * TERM, then after `graceMs` KILL, to every process of the run, until none is left. Resolves when they are really
 * gone; a process that the kernel cannot kill keeps it waiting until `give up` says so. `onKill` is called whenever KILL
 * was needed.
 */
export async function killRun(
  run: Run,
  clock: Clock,
  graceMs: number,
  giveUp: () => boolean = () => false,
  onKill: () => void = () => undefined,
): Promise<boolean> {
  const termed = new Set<number>();
  let members = await membersOf(run);
  // A look at all processes may take longer than the pause between two of them: it counts.
  const since = clock.monotonic();
  // What is populated and has no members lives in another process namespace.
  while (members.size > 0 || (await run.group?.populated())) {
    if (giveUp()) return false;
    const hard = clock.monotonic() - since >= graceMs;
    if (hard) onKill();
    if (hard) await run.group?.kill();
    for (const pid of members) {
      if (hard) signal(pid, 'SIGKILL');
      else if (!termed.has(pid)) signal(pid, 'SIGTERM');
      // A stopped process takes TERM only once it goes on.
      if (!hard && !termed.has(pid)) signal(pid, 'SIGCONT');
      termed.add(pid);
    }
    await new Promise<void>((resolve) => clock.after(KILL_POLL_MS, resolve));
    members = await membersOf(run, members);
  }
  return true;
}
