import type { Json } from '@muster/wire';
import { DISBATCH_LIMITS } from '../limits.js';
import { isObject } from '../values.js';

/** What people say of balancing: at most so many tasks by the time of day, over queues in groups of priority (sheet §1.7). */
export interface BalancePlan {
  /** `"* 07:00"` is every day, `"0 07:00"` Sundays. */
  readonly max_tasks: Readonly<Record<string, number>>;
  /** Names of queues; the first group has the least priority and gets what is left. */
  readonly queues: readonly (readonly string[])[];
  /** Seconds since the epoch, until which nothing is balanced; null: it is. */
  readonly disabled: number | null;
}

export interface BalanceStatus {
  readonly status: 'OK' | 'WARNING' | 'CRITICAL';
  readonly message: string;
  /** Of the last round, seconds since the epoch. */
  readonly timestamp: number;
}

export type BalanceDocument = BalancePlan & Partial<BalanceStatus>;

export const TIME = /^([*0-6]) ((?:[01]\d|2[0-3]):[0-5]\d)$/;
const NAME = /^[\w-]+$/;

/** Why it cannot be taken. */
export class BadPlan extends Error {}

/**
 * Reads what POST /balance sends.
 * @param nowSeconds Since the epoch.
 * @throws BadPlan
 */
export function readPlan(
  said: Json,
  known: ReadonlySet<string>,
  nowSeconds: number,
): Pick<BalancePlan, 'max_tasks' | 'queues'> & Partial<Pick<BalancePlan, 'disabled'>> {
  if (!isObject(said)) throw new BadPlan('it must be an object');
  const unknown = Object.keys(said).find((name) => !['max_tasks', 'queues', 'disabled'].includes(name));
  if (unknown !== undefined) throw new BadPlan(`unknown key ${unknown.slice(0, DISBATCH_LIMITS.echoed)}`);
  const queues = readGroups(said.queues, known);
  const max_tasks = readTimes(said.max_tasks);
  return 'disabled' in said
    ? { max_tasks, queues, disabled: readDisabled(said.disabled, nowSeconds) }
    : { max_tasks, queues };
}

function readGroups(groups: Json | undefined, known: ReadonlySet<string>): string[][] {
  if (!Array.isArray(groups)) throw new BadPlan('queues must be a list of lists of names of queues');
  const seen = new Set<string>();
  const read = groups.map((group: Json) => {
    if (!Array.isArray(group)) throw new BadPlan('queues must be a list of lists of names of queues');
    return group.map((name: Json) => {
      if (typeof name !== 'string' || !NAME.test(name))
        throw new BadPlan('a name of a queue has letters, digits, _ and -');
      if (!known.has(name)) throw new BadPlan(`unknown queue ${name.slice(0, DISBATCH_LIMITS.echoed)}`);
      if (seen.has(name)) throw new BadPlan(`queue ${name} is named twice`);
      seen.add(name);
      return name;
    });
  });
  if (seen.size > DISBATCH_LIMITS.balanceQueues) throw new BadPlan('too many queues');
  return read;
}

function readTimes(times: Json | undefined): Record<string, number> {
  if (!isObject(times)) throw new BadPlan('max_tasks must be an object of times, such as {"* 07:00": 5}');
  const entries = Object.entries(times);
  if (entries.length > DISBATCH_LIMITS.balanceTimes) throw new BadPlan('max_tasks has too many times');
  return Object.fromEntries(
    entries.map(([time, most]) => {
      if (!TIME.test(time))
        throw new BadPlan(`time ${time.slice(0, 40)} must be as "* 07:00", or "0 07:00" for Sundays`);
      if (!/^\d{1,9}$/.test(typeof most === 'number' || typeof most === 'string' ? String(most) : '')) {
        throw new BadPlan(`max_tasks of ${time} must be a non-negative integer`);
      }
      return [time, Number(most)];
    }),
  );
}

function readDisabled(value: Json | undefined, nowSeconds: number): number | null {
  if (value === null || value === 0 || value === '0') return null;
  const until = /^\d{1,12}$/.test(typeof value === 'number' || typeof value === 'string' ? String(value) : '')
    ? Number(value)
    : Number.NaN;
  if (Number.isNaN(until)) throw new BadPlan('disabled must be null, 0, or seconds since the epoch');
  if (until < nowSeconds) throw new BadPlan('disabled is in the past');
  return until;
}
