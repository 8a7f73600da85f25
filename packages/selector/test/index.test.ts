import { type Entry, parseSelector, SelectorIndex, type TextAttributes } from '@muster/selector';
import { beforeEach, describe, expect, it } from 'vitest';

let index: SelectorIndex<string, string>;
beforeEach(() => {
  index = new SelectorIndex();
});

const add = (selector: string, subscriber: string): Entry<string, string> =>
  index.add(parseSelector(selector, { sugar: true }), subscriber);

function matched(attributes: Record<string, string>): string[] {
  const found: string[] = [];
  index.match(new Map(Object.entries(attributes)), (subscriber) => found.push(subscriber));
  return found.sort();
}

/** How many attributes are read to find the subscribers of an event: what is not indexed is read for each selector. */
function reads(attributes: Record<string, string>): number {
  let count = 0;
  const event: TextAttributes = {
    get: (name) => {
      count += 1;
      return attributes[name];
    },
  };
  index.match(event, () => undefined);
  return count;
}

describe('a subscription', () => {
  it('is visited for each event that it selects, and no other', () => {
    add("type = 'a'", 'one');
    expect(matched({ type: 'a' })).toEqual(['one']);
    expect(matched({ type: 'b' })).toEqual([]);
    expect(matched({})).toEqual([]);
  });

  it('with the empty selector is visited for every event', () => {
    add('', 'all');
    expect(matched({})).toEqual(['all']);
  });

  it('is visited once however many ways its selector is met', () => {
    add("type = 'a' OR host = 'x' OR celsius > 1 OR type LIKE 'a%' OR celsius IN ('2', 2)", 'one');
    expect(matched({ type: 'a', host: 'x', celsius: '2' })).toEqual(['one']);
  });

  it('is gone once removed', () => {
    const entry = add("type = 'a'", 'one');
    index.remove(entry);
    expect(matched({ type: 'a' })).toEqual([]);
    expect(index.size).toBe(0);
  });

  it('may be removed twice', () => {
    const entry = add("type = 'a'", 'one');
    add("type = 'a'", 'two');
    index.remove(entry);
    index.remove(entry);
    expect(matched({ type: 'a' })).toEqual(['two']);
    expect(index.size).toBe(1);
  });

  it('of the same subscriber and selector counts each time (B-3)', () => {
    const entry = add("type = 'a'", 'one');
    add("type = 'a'", 'one');
    expect(matched({ type: 'a' })).toEqual(['one', 'one']);
    index.remove(entry);
    expect(matched({ type: 'a' })).toEqual(['one']);
  });
});

describe('equal selectors', () => {
  it.each([
    ["type='a' AND n = 1", "type = 'a'  AND (n=1.0)"],
    ["type = 'a' AND n = 1", "n = 1 AND type = 'a'"],
    ['', '  '],
  ])('%j and %j are one expression', (one, other) => {
    add(one, 'one');
    add(other, 'two');
    expect(index.stats()).toMatchObject({ subscriptions: 2, expressions: 1 });
  });

  it('stay one when an expression that shares a condition with them is removed', () => {
    const twice = add("type = 'a' AND type = 'a'", 'one');
    add("type = 'a'", 'two');
    index.remove(twice);
    add("type = 'a'", 'three');
    expect(index.stats()).toMatchObject({ subscriptions: 2, expressions: 1 });
  });

  it('are visited as a group, with what was hung on it', () => {
    const { group } = add("type = 'a'", 'one');
    add("type = 'a'", 'two');
    group.data = 'prepared';
    const groups: [string | undefined, string[]][] = [];
    index.matchGroups(new Map([['type', 'a']]), ({ data, subscribers }) => groups.push([data, [...subscribers]]));
    expect(groups).toEqual([['prepared', ['one', 'two']]]);
  });

  it('forget what was hung on their group when the last one is removed', () => {
    const entry = add("type = 'a'", 'one');
    entry.group.data = 'prepared';
    index.remove(entry);
    expect(add("type = 'a'", 'two').group.data).toBeUndefined();
  });
});

describe('changes while an event is visited', () => {
  const event = new Map([['type', 'a']]);

  it('a subscriber that is removed makes no other be visited twice or left out', () => {
    const entries = ['a', 'b', 'c', 'd', 'e'].map((subscriber) => add("type = 'a'", subscriber));
    const found: string[] = [];
    index.match(event, (subscriber) => {
      found.push(subscriber);
      for (const entry of entries.slice(0, 3)) index.remove(entry);
    });
    expect(new Set(found).size).toBe(found.length);
    expect(found).toEqual(expect.arrayContaining(['d', 'e']));
    expect(matched({ type: 'a' })).toEqual(['d', 'e']);
  });

  it('a subscriber that is added is visited from the next event on', () => {
    add("type = 'a'", 'one');
    const found: string[] = [];
    index.match(event, (subscriber) => {
      found.push(subscriber);
      add("type = 'a'", 'late');
      add("type LIKE 'a%'", 'later');
    });
    expect(found).toEqual(['one']);
    expect(matched({ type: 'a' })).toEqual(['late', 'later', 'one']);
  });

  it('a group that lost its last subscriber is not visited', () => {
    const entries = [add("type = 'a'", 'one'), add("type LIKE 'a%'", 'two')];
    const found: string[] = [];
    index.match(event, (subscriber) => {
      found.push(subscriber);
      for (const entry of entries) index.remove(entry);
    });
    expect(found.length).toBe(1);
  });

  it('another event may be matched', () => {
    add("type = 'a'", 'one');
    add("type = 'b'", 'two');
    add("type LIKE '_'", 'three');
    const found: string[] = [];
    index.match(event, (subscriber) => {
      found.push(subscriber);
      if (subscriber === 'one') index.match(new Map([['type', 'b']]), (each) => found.push(`b ${each}`));
    });
    expect(found.sort()).toEqual(['b three', 'b two', 'one', 'three']);
  });

  it('a visit that throws leaves the index as it was', () => {
    add("type = 'a'", 'one');
    expect(() =>
      index.match(event, () => {
        throw new Error('full');
      }),
    ).toThrow('full');
    expect(matched({ type: 'a' })).toEqual(['one']);
  });
});

describe('what is evaluated', () => {
  it('counts as unindexed what may hold for any event', () => {
    for (const [n, selector] of ['', 'a IS NULL', 'NOT a:x', "a = 'x' OR b IS NULL", 'TRUE'].entries()) {
      add(selector, `${n}`);
    }
    expect(index.stats()).toEqual({ subscriptions: 5, expressions: 5, indexed: 0, unindexed: 5 });
  });

  it.each([
    "a = 'x'",
    'a = 1',
    "a IN ('x', 1)",
    'a > 1',
    'a BETWEEN 1 AND b',
    "a LIKE 'x%'",
    "a LIKE '%x'",
    "a <> 'x'",
    'a + b > 1',
    'a IS NOT NULL',
    "a = 'x' OR b = 'y'",
    "NOT (a IS NULL OR b = 'x')",
    "NOT (a <> 'x' AND b > 1)",
    'FALSE',
  ])('%s is indexed', (selector) => {
    add(selector, 'one');
    expect(index.stats()).toMatchObject({ indexed: 1, unindexed: 0 });
  });

  it.each<[string, (n: number) => string, Record<string, string>]>([
    ['equality', (n) => `host = 'h${n}'`, { host: 'h7' }],
    ['equality of numbers', (n) => `port = ${n}`, { port: '7.0' }],
    ['IN', (n) => `host IN ('h${n}', 'g${n}')`, { host: 'g7' }],
    ['OR of equalities', (n) => `host = 'h${n}' OR host = 'g${n}'`, { host: 'g7' }],
    ['a hot value beside a rare one', (n) => `org = 'default' AND host = 'h${n}'`, { org: 'default', host: 'h7' }],
    ['a hot value in the same list', (n) => `host IN ('*', 'h${n}')`, { host: 'h7' }],
    ['OR of conjunctions', (n) => `host = 'h${n}' AND up = 1 OR rack = 'r${n}' AND up = 1`, { host: 'h7', up: '1' }],
    ['a prefix', (n) => `type LIKE 'push.${n}.%'`, { type: 'push.7.start' }],
    ['an interval', (n) => `celsius BETWEEN ${n * 2} AND ${n * 2 + 1}`, { celsius: '14.5' }],
    ['two bounds', (n) => `celsius > ${n} AND celsius < ${n + 2}`, { celsius: '7.5' }],
    ['a bound', (n) => `celsius > ${1000 + n}`, { celsius: '1000.5' }],
    ['an attribute that must be there', (n) => `serial <> 's${n}'`, { host: 'h7' }],
  ])('%s finds its few among thousands', (_, selector, event) => {
    for (let n = 0; n < 2000; n += 1) add(selector(n), `${n}`);
    expect(index.stats().unindexed).toBe(0);
    expect(reads(event)).toBeLessThanOrEqual(20);
  });

  it('the same holds for subscriptions of the Emulab shape, and after others came and went', () => {
    const shape = (node: number, program: number) =>
      `(EXPT = 'p/e${node % 10}') AND (HOST = '*' OR HOST = '10.0.0.${node}') AND OBJNAME = 'prog${program}' AND ` +
      `EVENTTYPE IN ('RUN', 'START', 'STOP') AND SCHEDULER = 0`;
    const event = (node: number, program: number, scheduler: string) => ({
      EXPT: `p/e${node % 10}`,
      HOST: `10.0.0.${node}`,
      OBJNAME: `prog${program}`,
      EVENTTYPE: 'START',
      SCHEDULER: scheduler,
    });
    const passing = Array.from({ length: 500 }, (_, n) => add(`EXPT = 'q/${n}' AND SCHEDULER = 0`, 'gone'));
    for (let node = 0; node < 200; node += 1) {
      for (let program = 0; program < 10; program += 1) add(shape(node, program), `${node}/${program}`);
    }
    for (const entry of passing) index.remove(entry);
    expect(matched(event(42, 7, '0'))).toEqual(['42/7']);
    expect(matched(event(42, 7, '1'))).toEqual([]);
    expect(matched({ ...event(42, 7, '0'), HOST: '*' }).length).toBe(20);
    expect(reads(event(42, 7, '0'))).toBeLessThanOrEqual(30);
  });

  it('nothing is left of what came and went', () => {
    const entries = Array.from({ length: 500 }, (_, n) =>
      add(`a${n % 3} = ${n % 7} AND b = ${n} AND c > ${n}`, 'gone'),
    );
    for (const entry of entries) index.remove(entry);
    expect(reads({ a0: '1', a1: '1', a2: '1', b: '1', c: '1' })).toBe(0);
  });

  it('a list of a thousand values beside another takes no million places', () => {
    const list = (name: string) => `${name} IN (${Array.from({ length: 1000 }, (_, n) => `'${name}${n}'`).join()})`;
    for (let n = 0; n < 40; n += 1) add(`${list('a')} AND ${list('b')} AND c = ${n}`, `${n}`);
    expect(matched({ a: 'a999', b: 'b0', c: '3' })).toEqual(['3']);
    expect(matched({ a: 'a999', b: 'b1000', c: '3' })).toEqual([]);
  });

  it('more alternatives than are told apart are found by what they have in common', () => {
    const alternatives = Array.from({ length: 17 }, (_, n) => `(host = 'h${n}' AND celsius > ${n})`).join(' OR ');
    add(alternatives, 'one');
    expect(index.stats()).toMatchObject({ indexed: 1 });
    expect(matched({ host: 'h16', celsius: '17' })).toEqual(['one']);
    expect(matched({ host: 'h17', celsius: '17' })).toEqual([]);
  });

  it('more attributes than are looked at are evaluated', () => {
    const names = Array.from({ length: 40 }, (_, n) => `a${n}`);
    add(names.map((name) => `${name} = 1`).join(' AND '), 'one');
    expect(matched(Object.fromEntries(names.map((name) => [name, '1'])))).toEqual(['one']);
    expect(matched(Object.fromEntries(names.map((name) => [name, name === 'a39' ? '2' : '1'])))).toEqual([]);
  });
});
