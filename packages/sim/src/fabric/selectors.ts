import type { Random } from '../kernel/random.js';

/** Headers of an event, as selectors see them. */
export type Attributes = ReadonlyMap<string, string>;

/** A selector, and its meaning told in another way than the shipped code tells it. Null: unknown (SQL-92). */
export interface Selector {
  readonly text: string;
  readonly holds: (event: Attributes) => boolean | null;
}

export const EVERYTHING: Selector = { text: '', holds: () => true };
export const HOSTS = ['db1', 'db2', 'web1'] as const;
export const TYPES = ['temp.high', 'temp.low', 'push.job', 'complete'] as const;
export const MOST_LEVEL = 9;

type Maker = (random: Random) => Selector;

const level = (event: Attributes): number | null => {
  const text = event.get('level');
  return text === undefined ? null : Number(text);
};

const leaves: readonly [Maker, ...Maker[]] = [
  (random) => {
    const type = random.pick(TYPES);
    return { text: `type = '${type}'`, holds: (event) => event.get('type') === type };
  },
  (random) => {
    const host = random.pick(HOSTS);
    return { text: `host = '${host}'`, holds: (event) => known(event.get('host'), (value) => value === host) };
  },
  (random) => {
    const least = random.integer(0, MOST_LEVEL);
    return { text: `level > ${least}`, holds: (event) => known(level(event), (value) => value > least) };
  },
  (random) => {
    const least = random.integer(0, MOST_LEVEL);
    const most = random.integer(least, MOST_LEVEL);
    const holds = (event: Attributes) => known(level(event), (value) => value >= least && value <= most);
    return { text: `level BETWEEN ${least} AND ${most}`, holds };
  },
  () => ({ text: `type LIKE 'temp.%'`, holds: (event) => event.get('type')?.startsWith('temp.') ?? null }),
  () => ({ text: 'host IS NULL', holds: (event) => !event.has('host') }),
  (random) => {
    const [one, other] = [random.pick(HOSTS), random.pick(HOSTS)];
    const holds = (event: Attributes) => known(event.get('host'), (value) => value === one || value === other);
    return { text: `host IN ('${one}', '${other}')`, holds };
  },
];

export function makeSelector(random: Random, depth = 2): Selector {
  if (random.chance(depth === 2 ? 0.25 : 0)) return EVERYTHING;
  if (depth === 0 || random.chance(0.5)) return random.pick(leaves)(random);
  const one = makeSelector(random, depth - 1);
  const other = makeSelector(random, depth - 1);
  switch (random.integer(0, 2)) {
    case 0:
      return { text: `NOT (${one.text})`, holds: (event) => known(one.holds(event), (value) => !value) };
    case 1:
      return {
        text: `(${one.text}) AND (${other.text})`,
        holds: (event) => both(one.holds(event), other.holds(event)),
      };
    default:
      return {
        text: `(${one.text}) OR (${other.text})`,
        holds: (event) => known(both(negated(one.holds(event)), negated(other.holds(event))), (value) => !value),
      };
  }
}

function known<T>(value: T | null | undefined, then: (value: T) => boolean): boolean | null {
  return value === undefined || value === null ? null : then(value);
}

function negated(value: boolean | null): boolean | null {
  return value === null ? null : !value;
}

function both(one: boolean | null, other: boolean | null): boolean | null {
  if (one === false || other === false) return false;
  return one === null || other === null ? null : true;
}
