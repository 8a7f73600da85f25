import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { holdingsOf } from '../src/auth/holdings.js';
import {
  deniedNodes,
  type Group,
  type Groups,
  includes,
  type Members,
  type NodeGroup,
} from '../src/auth/permissions.js';
import { Rights } from '../src/auth/rights.js';
import type { Identity, Permission } from '../src/auth/types.js';
import { DECLARED, RIGHTS } from './support/layers.js';

/** The permissions of sheet §7.3 and decisions N13 and N14. */

function identity(name: string, type: Identity['type'] = 'user', serverAdmin = false): Identity {
  return { principalId: name, type, name, serverAdmin, publicKey: null };
}

function members(given: Partial<Record<keyof Members, readonly string[]>>): Members {
  return {
    users: new Set(given.users ?? []),
    clients: new Set(given.clients ?? []),
    groups: new Set(given.groups ?? []),
  };
}

function groups(given: Readonly<Record<string, Group>>): Groups {
  return new Map(Object.entries(given));
}

function may(
  who: Identity,
  permission: Permission,
  table: Groups,
  nodeGroups: readonly NodeGroup[] = [],
  subject?: string,
) {
  return RIGHTS.allows(who, permission, { groups: table, nodeGroups, subject });
}

const alice = identity('alice');
const web1 = identity('web1', 'node');
const ci = identity('ci', 'service');

describe('membership', () => {
  it('users are looked up among users, nodes and services among clients', () => {
    const group = members({ users: ['web1', 'ci'], clients: ['alice'] });
    for (const who of [alice, web1, ci]) expect(includes(group, who, groups({}))).toBe(false);
    const right = members({ users: ['alice'], clients: ['web1', 'ci'] });
    for (const who of [alice, web1, ci]) expect(includes(right, who, groups({}))).toBe(true);
  });

  it('nested groups are followed to any depth', () => {
    const table = groups({ b: members({ groups: ['c'] }), c: members({ users: ['alice'] }) });
    expect(includes(members({ groups: ['b'] }), alice, table)).toBe(true);
  });

  it('a missing nested group counts as not in it', () => {
    expect(includes(members({ groups: ['nowhere'] }), alice, groups({}))).toBe(false);
  });

  it('cycles end', () => {
    const table = groups({ a: members({ groups: ['b'] }), b: members({ groups: ['a', 'b'] }) });
    expect(includes(members({ groups: ['a'] }), alice, table)).toBe(false);
  });

  it('any tangle of groups gives the same answer as reachability', () => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    const edges = fc.array(fc.tuple(fc.constantFrom(...names), fc.constantFrom(...names)));
    fc.assert(
      fc.property(edges, fc.constantFrom(...names), fc.constantFrom(...names), (pairs, start, home) => {
        const table = groups(
          Object.fromEntries(
            names.map((name) => [
              name,
              members({
                users: name === home ? ['alice'] : [],
                groups: pairs.filter(([from]) => from === name).map(([, to]) => to),
              }),
            ]),
          ),
        );
        const reached = new Set([start]);
        for (const _ of names) for (const [from, to] of pairs) if (reached.has(from)) reached.add(to);
        expect(includes(members({ groups: [start] }), alice, table)).toBe(reached.has(home));
      }),
    );
  });
});

describe('read', () => {
  it('is for every member when there is no readers group', () => {
    for (const who of [alice, web1, ci]) expect(may(who, 'push:read', groups({}))).toBe(true);
  });

  it('is for readers once the group exists, and for admins all the same', () => {
    const table = groups({ push_job_readers: members({ users: ['bob'] }), admins: members({ users: ['alice'] }) });
    expect(may(alice, 'push:read', table)).toBe(true);
    expect(may(identity('bob'), 'push:read', table)).toBe(true);
    expect(may(identity('carol'), 'push:read', table)).toBe(false);
    expect(may(identity('root', 'user', true), 'push:read', table)).toBe(false);
  });

  it('is for readers alone when the group is exclusive: an admin outside it is refused', () => {
    const readers = { ...members({ users: ['bob'] }), exclusive: true };
    const table = groups({ push_job_readers: readers, admins: members({ users: ['alice'] }) });
    expect(may(alice, 'push:read', table)).toBe(false);
    expect(may(identity('bob'), 'push:read', table)).toBe(true);
  });

  it('of one job is also for who started it, and not for another of the same name', () => {
    const table = groups({ push_job_readers: members({}), push_job_writers: members({ users: ['alice'] }) });
    const about = { groups: table, nodeGroups: [], subject: 'j1', owner: 'alice' };
    expect(RIGHTS.allows(alice, 'push:job', about)).toBe(true);
    expect(RIGHTS.allows({ ...alice, principalId: 'another' }, 'push:job', about)).toBe(false);
    expect(RIGHTS.allows(alice, 'push:read', about)).toBe(false);
    const former = groups({ push_job_readers: members({}), push_job_writers: members({}) });
    expect(RIGHTS.allows(alice, 'push:job', { ...about, groups: former })).toBe(false);
  });
});

describe('write', () => {
  it('is for admins when there is no writers group', () => {
    const table = groups({ admins: members({ users: ['alice'] }) });
    expect(may(alice, 'push:write', table)).toBe(true);
    expect(may(identity('bob'), 'push:write', table)).toBe(false);
  });

  it('is for nobody when there are neither', () => {
    expect(may(alice, 'push:write', groups({}))).toBe(false);
  });

  it('is for writers once the group exists, and for admins all the same', () => {
    const table = groups({ admins: members({ users: ['alice'] }), push_job_writers: members({ users: ['bob'] }) });
    expect(may(alice, 'push:write', table)).toBe(true);
    expect(may(identity('bob'), 'push:write', table)).toBe(true);
    expect(may(identity('carol'), 'push:write', table)).toBe(false);
  });

  it('is for writers alone when the group is exclusive: an admin outside it is refused', () => {
    const writers = { ...members({ users: ['bob'] }), exclusive: true };
    const table = groups({ admins: members({ users: ['alice'] }), push_job_writers: writers });
    expect(may(alice, 'push:write', table)).toBe(false);
    expect(may(identity('bob'), 'push:write', table)).toBe(true);
  });

  it('N14: the deployed spelling of a nested group is the same group', () => {
    const table = groups({
      push_job_writers: members({ groups: ['ops'] }),
      ops: members({ groups: ['pushy_job_readers'] }),
      push_job_readers: members({ users: ['alice'] }),
    });
    expect(may(alice, 'push:write', table)).toBe(true);
  });
});

describe('administration', () => {
  it('of an organization is for its admins and for server administrators', () => {
    const table = groups({ admins: members({ users: ['alice'] }) });
    expect(may(alice, 'org:admin', table)).toBe(true);
    expect(may(identity('bob'), 'org:admin', table)).toBe(false);
    expect(may(identity('root', 'user', true), 'org:admin', table)).toBe(true);
  });

  it('of the server is for server administrators alone', () => {
    const table = groups({ admins: members({ users: ['alice'] }) });
    expect(may(alice, 'server:admin', table)).toBe(false);
    expect(may(identity('root', 'user', true), 'server:admin', table)).toBe(true);
  });

  it('of a user is for the user and for server administrators', () => {
    expect(may(alice, 'user:self', groups({}), [], 'alice')).toBe(true);
    expect(may(alice, 'user:self', groups({}), [], 'bob')).toBe(false);
    expect(may(identity('alice', 'node'), 'user:self', groups({}), [], 'alice')).toBe(false);
  });

  it('agreeing for a user is for the user alone', () => {
    const admin = { ...identity('root', 'user'), serverAdmin: true };
    expect(may(alice, 'user:consent', groups({}), [], 'alice')).toBe(true);
    expect(may(admin, 'user:consent', groups({}), [], 'alice')).toBe(false);
    expect(may(identity('alice', 'node'), 'user:consent', groups({}), [], 'alice')).toBe(false);
  });
});

describe('configuration of a node', () => {
  const readers = groups({ push_job_readers: members({ users: ['alice'], clients: ['web2'] }) });

  it('is for the node itself, whatever the readers group says', () => {
    expect(may(web1, 'node:self', readers, [], 'web1')).toBe(true);
  });

  it('is for no other node, not even a reader', () => {
    expect(may(identity('web2', 'node'), 'node:self', readers, [], 'web1')).toBe(false);
  });

  it('is for readers who are not nodes', () => {
    expect(may(alice, 'node:self', readers, [], 'web1')).toBe(true);
    expect(may(identity('bob'), 'node:self', readers, [], 'web1')).toBe(false);
  });
});

describe('EXECUTE on node groups (N13)', () => {
  const group = (name: string, nodes: readonly string[], execute: Members = members({})): NodeGroup => ({
    name,
    query: null,
    nodes: new Set(nodes),
    execute,
  });
  const table = groups({ admins: members({ users: ['root'] }), dba: members({ users: ['alice'] }) });
  const root = identity('root');
  const denied = (who: Identity, names: readonly string[], nodeGroups: readonly NodeGroup[]) =>
    deniedNodes(who, names, { groups: table, nodeGroups, open: may(who, 'push:write', table) }, (one) => one.nodes);

  it('nodes in no granting group are open to whoever may write', () => {
    expect(denied(root, ['web1', 'db1'], [group('web', ['web1'])])).toEqual([]);
  });

  it('a group with grants closes its nodes to writers without one', () => {
    const db = group('db', ['db1'], members({ groups: ['dba'] }));
    expect(denied(root, ['web1', 'db1'], [db])).toEqual(['db1']);
  });

  it('a grant through a nested group opens the group, and nothing else', () => {
    const db = group('db', ['db1'], members({ groups: ['dba'] }));
    expect(denied(alice, ['web1', 'db1'], [db])).toEqual(['web1']);
    expect(may(alice, 'push:execute', table, [db])).toBe(true);
    expect(may(alice, 'push:write', table, [db])).toBe(false);
  });

  it('one grant is enough for a node in several granting groups', () => {
    const db = group('db', ['db1'], members({ groups: ['dba'] }));
    const prod = group('prod', ['db1', 'web1'], members({ users: ['root'] }));
    expect(denied(alice, ['db1', 'web1'], [db, prod])).toEqual(['web1']);
    expect(denied(root, ['db1', 'web1'], [db, prod])).toEqual([]);
  });

  it('without a grant and without writing there is nothing to start', () => {
    expect(may(identity('bob'), 'push:execute', table, [group('db', ['db1'], members({ groups: ['dba'] }))])).toBe(
      false,
    );
  });
});

it('a right is declared once', () => {
  expect(() => new Rights([...DECLARED.rights, ...DECLARED.rights])).toThrow('two layers declare the right');
});

it('what no layer declares is nobody’s', () => {
  expect(() => RIGHTS.of('cake:eat' as Permission)).toThrow('no layer declares the right cake:eat');
});

it('who is no member of an organization has what administration is, by being a server administrator', () => {
  const root = identity('root', 'user', true);
  const held = holdingsOf(RIGHTS, root, { groups: groups({}), nodeGroups: [] }, false);
  expect(held.map(({ permission }) => permission)).toEqual(['member', 'org:admin', 'server:admin', 'user:self']);
  expect(new Set(held.flatMap(({ by }) => by.map(({ kind }) => kind)))).toEqual(new Set(['server_admin']));
});
