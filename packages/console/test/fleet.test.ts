import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LiveEvent } from '../src/live/event.js';
import { applyToFleet, attributesOf, countOwners, type Fleet, fleetNode, type ListedNode } from '../src/live/fleet.js';
import { type OrderedNodes, orderedNodes } from '../src/nodes/order.js';
import { SORTS, whereOf } from '../src/nodes/rows.js';

const NAMES = ['web1', 'web2', 'db1'] as const;
const name = fc.constantFrom(...NAMES);

function event(
  position: number,
  type: string,
  attributes: Readonly<Record<string, string>>,
  data: unknown = {},
): LiveEvent {
  return {
    position,
    type,
    at: 1_000_000 + position * 1000,
    source: 'muster',
    attributes: Object.entries({ type, ...attributes }),
    contentType: 'application/json',
    body: JSON.stringify(data),
  };
}

/** A history: what the server may tell of nodes, in any order. */
const history = fc
  .array(
    fc.oneof(
      fc.record({ type: fc.constantFrom('node.created', 'node.removed'), node: name }),
      fc.record({ type: fc.constant('node.down'), node: name }),
      fc.record({ type: fc.constant('node.up'), node: name, owner: fc.constantFrom('rehab', 'idle') }),
      fc.record({ type: fc.constant('node.owner'), node: name, owner: fc.constantFrom('idle', 'job', 'rehab') }),
      fc.record({ type: fc.constant('node.facts'), node: name, value: fc.integer({ min: 0, max: 3 }) }),
      fc.record({ type: fc.constant('push.run_start'), node: name }),
    ),
    { maxLength: 40 },
  )
  .map((steps) =>
    steps.map(({ type, node, ...rest }, index) => {
      const owner = 'owner' in rest ? { owner: rest.owner, ...(rest.owner === 'job' && { job: 'j1' }) } : {};
      const data =
        'value' in rest ? { facts: { cpus: rest.value }, labels: { role: 'web' } } : { reason: `at ${index}` };
      return event(index + 1, type, { node, ...owner }, data);
    }),
  );

const EMPTY: Fleet = new Map();

describe('the fleet', () => {
  it('is the same whether events come one by one or together', () => {
    fc.assert(
      fc.property(history, (events) => {
        const together = applyToFleet(EMPTY, events);
        const apart = events.reduce((fleet, each) => applyToFleet(fleet, [each]), EMPTY);
        expect(apart).toEqual(together);
      }),
    );
  });

  it('is the same when it was read later than it is followed from: what comes twice is harmless', () => {
    fc.assert(
      fc.property(history, fc.nat(), fc.nat(), (events, a, b) => {
        const [from, read] = [a % (events.length + 1), b % (events.length + 1)].sort((x, y) => x - y) as [
          number,
          number,
        ];
        const snapshot = applyToFleet(EMPTY, events.slice(0, read));
        expect(applyToFleet(snapshot, events.slice(from))).toEqual(applyToFleet(EMPTY, events));
      }),
    );
  });

  it('counts every node once', () => {
    fc.assert(
      fc.property(history, (events) => {
        const fleet = applyToFleet(EMPTY, events);
        const { idle, job, rehab, down } = countOwners(fleet.values());
        expect(idle + job + rehab + down).toBe(fleet.size);
      }),
    );
  });

  it('stays the same object when nothing concerns it', () => {
    const fleet = applyToFleet(EMPTY, [event(1, 'node.created', { node: 'web1' })]);
    expect(
      applyToFleet(fleet, [event(2, 'push.start', { job: 'j1' }), event(3, 'node.restarted', { node: 'web1' })]),
    ).toBe(fleet);
  });

  it('knows which job has a node, and for how long', () => {
    const fleet = applyToFleet(EMPTY, [
      event(1, 'node.created', { node: 'web1' }),
      event(2, 'node.owner', { node: 'web1', owner: 'job', from: 'idle', job: 'j1' }, { reason: 'asked by j1' }),
    ]);
    expect(fleet.get('web1')).toMatchObject({ owner: 'job', job: 'j1', since: 1_002_000, reason: 'asked by j1' });
    const after = applyToFleet(fleet, [
      event(3, 'node.owner', { node: 'web1', owner: 'idle', from: 'job', job: 'j1' }),
    ]);
    expect(after.get('web1')).toMatchObject({ owner: 'idle', job: null });
  });
});

it('is known which nodes have no agent, and why one is down', () => {
  const down = event(1, 'node.down', { node: 'box1', via: 'ssh' }, { reason: 'ECONNREFUSED' });
  const fleet = applyToFleet(EMPTY, [down, event(2, 'node.up', { node: 'web1', owner: 'rehab' })]);
  expect(fleet.get('box1')).toMatchObject({ owner: 'down', via: 'ssh', reason: 'ECONNREFUSED' });
  expect(fleet.get('web1')).toMatchObject({ via: 'agent' });
});

const LISTED: ListedNode = {
  node_name: 'web1',
  owner: 'idle',
  owner_since: '2026-11-22T10:00:00Z',
  reason: 'ready for a job',
  via: 'agent',
  dialect: 'native',
  facts: { os: 'linux', cpus: 8 },
  labels: { role: 'web' },
  commands: { list: [{ name: 'uptime' }] },
};

describe('filters of nodes', () => {
  const fleet: Fleet = new Map(
    [
      fleetNode(LISTED),
      fleetNode({
        ...LISTED,
        node_name: 'db1',
        owner: 'down',
        via: 'ssh',
        owner_since: '2026-11-22T11:00:00Z',
        labels: { role: 'db' },
      }),
    ].map((node) => [node.name, node]),
  );
  const found = (query: string, sort = 'name') => orderedNodes(null, fleet, query, sort).rows?.map((node) => node.name);

  it.each([
    ['', ['db1', 'web1']],
    ['role:web', ['web1']],
    ['via:ssh', ['db1']],
    ["cpus >= 8 AND status = 'up'", ['web1']],
    ['availability:unavailable', ['db1']],
    ['command:uptime AND name:db*', ['db1']],
    ['*:*', ['db1', 'web1']],
  ])('%s', (query, names) => {
    expect(found(query)).toEqual(names);
  });

  it('say when they cannot be read', () => {
    expect(orderedNodes(null, fleet, 'role = (', 'name').rows).toBeNull();
  });

  it('see the name, whatever facts say', () => {
    expect(attributesOf(fleetNode({ ...LISTED, facts: { name: 'other', status: 'x' } }))).toMatchObject({
      name: 'web1',
      status: 'up',
    });
  });

  it('are sorted both ways', () => {
    const names = (sort: string) => found('', sort);
    expect(names('name')).toEqual(['db1', 'web1']);
    expect(names('-name')).toEqual(['web1', 'db1']);
    expect(names('since')).toEqual(['db1', 'web1']);
    expect(names('owner')).toEqual(['web1', 'db1']);
  });

  const sorts = fc.constantFrom(...SORTS.flatMap((sort) => [sort, `-${sort}`]));
  const queries = fc.constantFrom('', 'status:down', "owner = 'idle'", 'cpus > 1', 'name:web*', 'role = (');

  it('stay in order from event to event as if all were put in order anew', () => {
    fc.assert(
      fc.property(history, queries, sorts, (events, query, sort) => {
        let now: Fleet = fleet;
        let kept: OrderedNodes | null = null;
        for (const each of events) {
          now = applyToFleet(now, [each]);
          kept = orderedNodes(kept, now, query, sort);
          expect(kept.rows).toEqual(orderedNodes(null, now, query, sort).rows);
        }
      }),
    );
  });

  it('stay the same where nothing has changed', () => {
    const before = orderedNodes(null, fleet, 'role:web', 'since');
    expect(orderedNodes(before, fleet, 'role:web', 'since')).toBe(before);
  });
});

it.each([
  ['', null, null],
  [' role:web ', null, 'role:web'],
  ['', 'down', 'status:down'],
  ['role:web OR role:db', 'idle', '(role:web OR role:db) AND availability:available'],
] as const)('the nodes of %j and %j are those of the selector %j', (q, owner, where) => {
  expect(whereOf(q, owner)).toBe(where);
});
