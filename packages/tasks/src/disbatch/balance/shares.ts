import { type BalancePlan, TIME } from './document.js';

/** When it is, where the server is. */
export interface LocalTime {
  /** 0: Sunday. */
  readonly day: number;
  /** Since midnight. */
  readonly minute: number;
}

/** A queue, and what there is of it. */
export interface QueueLoad {
  readonly queued: number;
  readonly running: number;
}

/**
 * How many tasks may run now, at most. A time of a day stands in the place of the same one of every day; what counts is the latest
 * that has come, before the first one of the day the last. Null: no time says anything.
 */
export function mostTasks(plan: Pick<BalancePlan, 'max_tasks'>, { day, minute }: LocalTime): number | null {
  const today = new Map<number, { readonly most: number; readonly daily: boolean }>();
  for (const [time, most] of Object.entries(plan.max_tasks)) {
    const [, which, clock = ''] = TIME.exec(time) ?? [];
    const daily = which === '*';
    if (!daily && Number(which) !== day) continue;
    const [hours, minutes] = clock.split(':').map(Number);
    const at = (hours ?? 0) * 60 + (minutes ?? 0);
    if (daily && today.get(at)?.daily === false) continue;
    today.set(at, { most, daily });
  }
  const times = [...today.keys()].sort((left, right) => left - right);
  const latest = times.findLast((at) => at <= minute) ?? times.at(-1);
  return latest === undefined ? null : (today.get(latest)?.most ?? null);
}

/**
 * The threads of each queue (sheet §6). Groups that are not the first take what they need, in their order; the first one shares
 * what is left. The original counts only what waits; as threads limit also what runs already, this counts both, or a queue
 * whose last tasks wait would stand still until the others have ended.
 */
export function sharedThreads(
  groups: BalancePlan['queues'],
  loads: ReadonlyMap<string, QueueLoad>,
  most: number,
): ReadonlyMap<string, number> {
  const shares = new Map<string, number>();
  const need = (name: string): number => {
    const { queued, running } = loads.get(name) ?? { queued: 0, running: 0 };
    return queued + running;
  };
  const sum = (names: readonly string[], of: (name: string) => number): number =>
    names.reduce((total, name) => total + of(name), 0);
  const [first = [], ...urgent] = groups;
  const reserved = Math.min(sum(urgent.flat(), need), most);
  const left = most - reserved;
  for (const name of first) shares.set(name, Math.min(Math.floor(left / first.length), need(name)));
  topUp(first, left);
  let taken = 0;
  for (const [index, group] of urgent.entries()) {
    taken += sum(groups[index] ?? [], (name) => Math.max(loads.get(name)?.running ?? 0, shares.get(name) ?? 0));
    const free = Math.max(0, most - taken);
    for (const name of group) shares.set(name, Math.floor(Math.min(free, need(name)) / group.length));
    topUp(group, Math.min(free, sum(group, need)));
  }
  return shares;

  /** What is over goes to the first queue that could use it. */
  function topUp(group: readonly string[], whole: number): void {
    const short = group.find((name) => (shares.get(name) ?? 0) < need(name));
    if (short === undefined) return;
    const others = sum(group, (name) => (name === short ? 0 : (shares.get(name) ?? 0)));
    shares.set(short, Math.max(shares.get(short) ?? 0, whole - others));
  }
}
