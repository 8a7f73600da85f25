import { refused } from '../request/refusal.js';
import type { Manner } from './envelope.js';

/** Query parameters that mean the same on every route (sheet §8.1). */
const COMMON: ReadonlySet<string> = new Set([
  'pretty',
  'naked',
  'filter',
  'limit',
  'offset',
  'order',
  'orderby',
  'where',
]);

/** Named fields of one answer, and how long their names may be. */
const MOST_FILTER = 2000;
const DEFAULT_LIMIT = 100;
const MOST_LIMIT = 250;
const MOST_OFFSET = 10_000_000;

export interface ListQuery {
  readonly limit: number;
  readonly offset: number;
  readonly order: 'asc' | 'desc' | null;
  readonly orderBy: string | null;
}

/** What somebody wrote behind the question mark. Names of common parameters are taken in any case. */
export class Query {
  readonly #common = new Map<string, string>();
  /** What is searched for, in the order in which it was given. */
  readonly conditions: readonly (readonly [string, string])[];

  /** @throws MusterError `job_invalid` for a common parameter that is given twice. */
  constructor(url: string) {
    const question = url.indexOf('?');
    const conditions: [string, string][] = [];
    for (const [name, value] of new URLSearchParams(question === -1 ? '' : url.slice(question + 1))) {
      const common = name.toLowerCase();
      if (!COMMON.has(common)) {
        conditions.push([name, value]);
        continue;
      }
      if (this.#common.has(common)) throw refused('ALOE_INVALID_PARAMETER', name, 'it is given twice');
      this.#common.set(common, value);
    }
    this.conditions = conditions;
  }

  get manner(): Manner {
    return { pretty: this.#flag('pretty'), naked: this.#flag('naked') };
  }

  /** Paths of the fields that are wanted; null: all. */
  get filter(): readonly (readonly string[])[] | null {
    const text = this.#common.get('filter') ?? '';
    if (text.length > MOST_FILTER) {
      throw refused('ALOE_INVALID_PARAMETER_LEN', 'filter', `must have at most ${MOST_FILTER} characters`);
    }
    const names = text.split(',').map((name) => name.trim());
    const given = names.filter((name) => name !== '' && name !== '*');
    return given.length === 0 || names.includes('*') ? null : given.map((name) => name.split('.'));
  }

  /** A selector of Muster's own. */
  get where(): string | null {
    return this.#common.get('where') ?? null;
  }

  get list(): ListQuery {
    const order = (this.#common.get('order') ?? '').toLowerCase();
    if (order !== '' && order !== 'asc' && order !== 'desc') {
      throw refused('ALOE_INVALID_PARAMETER', 'order', 'must be ASC or DESC');
    }
    const orderBy = this.#common.get('orderby') ?? '';
    return {
      limit: Math.min(this.#number('limit', DEFAULT_LIMIT), MOST_LIMIT),
      offset: Math.min(this.#number('offset', 0), MOST_OFFSET),
      order: order === '' ? null : order,
      orderBy: orderBy === '' ? null : orderBy,
    };
  }

  /** @throws MusterError `job_invalid` when something is searched for where nothing can be. */
  refuseConditions(allowed: readonly string[] = []): void {
    const [name] = this.conditions.find(([one]) => !allowed.includes(one)) ?? [];
    if (name !== undefined) throw refused('ALOE_INVALID_PARAMETER', name, 'there is no such query parameter here');
  }

  #flag(name: string): boolean {
    const value = (this.#common.get(name) ?? 'false').toLowerCase();
    if (value === 'true' || value === '1' || value === '') return true;
    if (value === 'false' || value === '0') return false;
    throw refused('ALOE_INVALID_PARAMETER', name, 'must be true or false');
  }

  /** Its amount: as Agave, a sign does not matter. */
  #number(name: string, otherwise: number): number {
    const value = this.#common.get(name)?.trim() ?? '';
    if (value === '') return otherwise;
    if (!/^[+-]?\d{1,15}$/.test(value)) throw refused('ALOE_INVALID_PARAMETER', name, 'must be a whole number');
    return Math.abs(Number(value));
  }
}

/** Only these fields of an answer, of each of its entries when it is a list. What is not there is left out. */
export function filtered(value: unknown, paths: readonly (readonly string[])[] | null): unknown {
  if (paths === null) return value;
  if (Array.isArray(value)) return value.map((one) => filtered(one, paths));
  const chosen: Record<string, unknown> = {};
  for (const path of paths) take(chosen, value, path);
  return chosen;
}

function take(into: Record<string, unknown>, from: unknown, [name = '', ...rest]: readonly string[]): void {
  if (typeof from !== 'object' || from === null || !Object.hasOwn(from, name) || name === '__proto__') return;
  const value: unknown = Reflect.get(from, name);
  if (rest.length === 0) {
    into[name] = value;
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  const inner = Object.hasOwn(into, name) ? into[name] : {};
  // The whole of it is wanted as well.
  if (inner === value) return;
  take(inner as Record<string, unknown>, value, rest);
  into[name] = inner;
}
