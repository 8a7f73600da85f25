import { compile, parseSelector } from '@muster/selector';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { attributesOf, type FleetNode, fleetNode, type Values } from '../src/live/fleet.js';
import { differencesOf } from '../src/nodes/differences.js';
import { groupsOf, namesTold, narrowed, toldBy } from '../src/nodes/groups.js';

function node(name: string, labels: Values, facts: Values = {}): FleetNode {
  const told = { owner: 'idle', owner_since: '2026-01-01T00:00:00Z', reason: '', via: 'agent', dialect: null } as const;
  return fleetNode({ node_name: name, ...told, labels, facts });
}

describe('groups of nodes', () => {
  const nodes = [node('a', { role: 'web' }), node('b', { role: 'web' }, { role: 'db' }), node('c', {}, { role: 'db' })];

  it('are told from labels before facts, the largest first, those without the last of their size', () => {
    expect(groupsOf([...nodes, node('d', {})], 'role')).toEqual([
      { value: 'web', count: 2 },
      { value: 'db', count: 1 },
      { value: null, count: 1 },
    ]);
    expect(groupsOf(nodes, 'constructor')).toEqual([{ value: null, count: 3 }]);
  });

  it('are offered by the names of most nodes first', () => {
    const fleet = new Map([node('a', { x: 1 }, { y: 2 }), node('b', {}, { y: 2 })].map((each) => [each.name, each]));
    expect(namesTold(fleet)).toEqual(['y', 'x']);
  });

  it('are found by the selector that is narrowed to one, and nothing else is', () => {
    const name = fc.constantFrom('role', 'and', 'my-attr', 'a b', 'x"y', '9', 'cpus.total');
    const value = fc.oneof(
      fc.constantFrom("o'neill", '', 'TRUE', 'web'),
      fc.integer(),
      fc.double({ noNaN: true }),
      fc.boolean(),
    );
    const query = fc.constantFrom('', 'name:n*', 'name:none OR name:n*', "name LIKE 'n%'");
    fc.assert(
      fc.property(name, value, fc.option(value), query, (attribute, wanted, other, q) => {
        const given = node('n', other === null ? {} : { [attribute]: other });
        for (const asked of [wanted, null]) {
          const matches = compile(parseSelector(narrowed(q, attribute, asked), { sugar: true }));
          const same = typeof asked === typeof other ? asked === other : asked === toldBy(given, attribute);
          expect(matches(attributesOf(given))).toBe(same);
        }
      }),
    );
  });
});

describe('nodes side by side', () => {
  it('are told what differs, with what one of them lacks, and what is alike', () => {
    const { differences, same } = differencesOf([
      node('a', { role: 'web', env: 'prod' }, { cpus: 4 }),
      node('b', { role: 'db', env: 'prod' }),
    ]);
    expect(differences).toEqual([
      { name: 'cpus', values: ['4', null] },
      { name: 'role', values: ['web', 'db'] },
    ]);
    expect(same).toEqual(['env', 'via']);
  });
});
