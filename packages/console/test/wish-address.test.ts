import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Where, Wish } from '../src/push/wish.js';
import { addressOf, wishFrom } from '../src/push/wish-address.js';
import { hrefOf, PARAMETERS } from '../src/route.js';

const text = fc.string({ maxLength: 30 });
const name = fc.stringMatching(/^[a-z][a-z0-9.-]{0,10}$/);
const where = fc.oneof(
  fc.record({ by: fc.constant('search' as const), query: text }),
  fc.record({
    by: fc.constant('nodes' as const),
    names: fc.uniqueArray(name, { minLength: 1 }).map((names) => names.join(' ')),
  }),
  fc.record({ by: fc.constant('group' as const), group: name }),
  fc.record({ by: fc.constant('job' as const), id: name, statuses: fc.uniqueArray(name, { minLength: 1 }) }),
);
const wish: fc.Arbitrary<Wish> = fc.record({
  ...{ where: where as fc.Arbitrary<Where>, command: text, quorum: text, concurrency: text, timeout: text },
  ...{ user: text, dir: text, maxFailures: text, wait: fc.boolean() },
});

const searchOf = (given: Wish): URLSearchParams =>
  new URL(hrefOf('default', { name: 'new-job' }, addressOf(given) ?? {}), 'http://x').searchParams;

it('a wish is found again by its address, which has nothing but what the screen knows', () => {
  fc.assert(
    fc.property(wish, (given) => {
      const search = searchOf(given);
      expect(wishFrom(search)).toEqual(given);
      expect([...search.keys()].filter((key) => !PARAMETERS['new-job'].includes(key))).toEqual([]);
    }),
  );
});

it.each([
  { where: { by: 'nodes' as const, names: Array.from({ length: 1000 }, (_, n) => `node-${n}`).join(' ') } },
  { command: 'x'.repeat(4001) },
])('one that does not fit into an address is in none', (more) => {
  expect(addressOf({ ...wishFrom(new URLSearchParams({ command: 'ls' })), ...more })).toBeNull();
});
