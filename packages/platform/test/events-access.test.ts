import { readdirSync, readFileSync } from 'node:fs';
import { allows, fits, OWN_TYPES } from '@muster/fabric';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EventAction, EventGrant, Groups, Members } from '../src/auth/permissions.js';
import type { Identity } from '../src/auth/types.js';
import { eventAccess, Followers, fitsOwnType } from '../src/events/access.js';
import { OwnEvents } from '../src/log/own-events.js';
import { DECLARED, FOLLOWERS, RIGHTS } from './support/layers.js';

const ORGANIZATION = { id: 'o1', name: 'default' };
const person = (name: string, serverAdmin = false): Identity => ({
  principalId: name,
  type: 'user',
  name,
  serverAdmin,
  publicKey: null,
});
const web1: Identity = { ...person('web1'), type: 'node' };
const alice = person('alice');

const members = (given: Partial<Record<keyof Members, readonly string[]>>): Members => ({
  users: new Set(given.users ?? []),
  clients: new Set(given.clients ?? []),
  groups: new Set(given.groups ?? []),
});
const groupsOf = (given: Readonly<Record<string, readonly string[]>>): Groups =>
  new Map(Object.entries(given).map(([name, users]) => [name, members({ users })]));
const grant = (action: EventAction, pattern: string, ...users: readonly string[]): EventGrant => ({
  action,
  pattern,
  holders: members({ users }),
});

function may(
  who: Identity,
  action: EventAction,
  type: string,
  groups: Groups = groupsOf({}),
  grants: readonly EventGrant[] = [],
): boolean {
  return allows(eventAccess(who, ORGANIZATION, { groups, grants }, FOLLOWERS)[action], type);
}

it('a layer whose events nobody can be said to follow does not start', () => {
  const family = new OwnEvents({ prefix: 'task.', followers: 'task:watch', schemas: {} });
  expect(() => new Followers(RIGHTS, [family])).toThrow('no layer declares who may follow task.*');
});

it.each(['node:read', null])('nor do layers that differ in who may follow events of one prefix: %s', (followers) => {
  const families = [followers, 'org:admin'].map(
    (one) => new OwnEvents({ prefix: 'task.', followers: one, schemas: {} }),
  );
  expect(() => new Followers(RIGHTS, families)).toThrow('who may follow task.* is declared twice');
  expect(() => new Followers(RIGHTS, [...families].reverse())).toThrow('who may follow task.* is declared twice');
});

it('nor does one whose events others could publish', () => {
  const family = new OwnEvents({ prefix: 'thing.', followers: null, schemas: {} });
  expect(() => new Followers(RIGHTS, [family])).toThrow('others may publish thing.*, too');
});

it('whatever events the code can tell, a layer declares who follows them', () => {
  const sources = new URL('../../', import.meta.url);
  const files = readdirSync(sources, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /^[a-z]+\/src\/.*\.ts$/.test(file),
  );
  const made = files.flatMap((file) => readFileSync(new URL(file, sources), 'utf8').match(/new OwnEvents\(/g) ?? []);
  expect(made).toHaveLength(DECLARED.families.length);
});

describe('following events', () => {
  it('is for every member, nodes too, while there is no group event_readers', () => {
    expect([may(alice, 'subscribe', 'temp.high'), may(web1, 'subscribe', 'temp.high')]).toEqual([true, true]);
  });

  it('is for the members of event_readers once the group exists', () => {
    const groups = groupsOf({ event_readers: ['alice'] });
    expect([may(alice, 'subscribe', 'temp.high', groups), may(web1, 'subscribe', 'temp.high', groups)]).toEqual([
      true,
      false,
    ]);
  });

  it.each(['push.job', 'node.down'])('of %s is for those who may read push jobs', (type) => {
    expect(may(alice, 'subscribe', type)).toBe(true);
    const groups = groupsOf({ push_job_readers: ['bob'] });
    expect([may(alice, 'subscribe', type, groups), may(person('bob'), 'subscribe', type, groups)]).toEqual([
      false,
      true,
    ]);
  });

  it('of push jobs needs no membership in event_readers', () => {
    const groups = groupsOf({ event_readers: [] });
    expect([may(alice, 'subscribe', 'push.job', groups), may(alice, 'subscribe', 'temp', groups)]).toEqual([
      true,
      false,
    ]);
  });

  it('of changes of identity is for admins', () => {
    const groups = groupsOf({ admins: ['alice'] });
    expect([
      may(alice, 'subscribe', 'auth.user.create', groups),
      may(person('bob'), 'subscribe', 'auth.user.create', groups),
      may(person('root', true), 'subscribe', 'auth.user.create', groups),
    ]).toEqual([true, false, true]);
  });
});

describe('publishing events', () => {
  it('is for every member, nodes too, while there is no group event_writers', () => {
    expect([may(alice, 'publish', 'temp.high'), may(web1, 'publish', 'temp.high')]).toEqual([true, true]);
  });

  it('is for the members of event_writers once the group exists', () => {
    const groups = groupsOf({ event_writers: ['alice'] });
    expect([may(alice, 'publish', 'temp.high', groups), may(web1, 'publish', 'temp.high', groups)]).toEqual([
      true,
      false,
    ]);
  });

  it.each(OWN_TYPES)('of %s is for nobody, server administrators neither', (pattern) => {
    const groups = groupsOf({ admins: ['root'], event_writers: ['root'] });
    expect(may(person('root', true), 'publish', pattern.replace('*', 'x'), groups)).toBe(false);
  });

  it('of a type that only begins like one of Muster’s is open', () => {
    expect([may(alice, 'publish', 'node'), may(alice, 'publish', 'nodes.up'), may(alice, 'publish', 'jobs')]).toEqual([
      true,
      true,
      true,
    ]);
  });
});

describe.each(['publish', 'subscribe'] as const)('a grant to %s', (action) => {
  it('closes the types it fits to everybody else', () => {
    const grants = [grant(action, 'temp.*', 'alice')];
    const types = ['temp.high', 'temp.', 'temp', 'other'];
    expect(types.map((type) => may(alice, action, type, undefined, grants))).toEqual([true, true, true, true]);
    expect(types.map((type) => may(person('bob'), action, type, undefined, grants))).toEqual([
      false,
      false,
      true,
      true,
    ]);
  });

  it('gives its types to those who have no others', () => {
    const group = action === 'publish' ? 'event_writers' : 'event_readers';
    const groups = groupsOf({ [group]: [] });
    const grants = [grant(action, 'temp.*', 'alice')];
    expect([may(alice, action, 'temp.high', groups, grants), may(alice, action, 'other', groups, grants)]).toEqual([
      true,
      false,
    ]);
  });

  it('is enough, whatever other grants fit', () => {
    const grants = [grant(action, 'temp.*', 'alice'), grant(action, 'temp.high', 'bob')];
    expect([
      may(alice, action, 'temp.high', undefined, grants),
      may(person('bob'), action, 'temp.low', undefined, grants),
    ]).toEqual([true, false]);
  });

  it('is held through groups', () => {
    const grants = [{ action, pattern: 'temp.*', holders: members({ groups: ['oncall'] }) }];
    const groups = groupsOf({ oncall: ['alice'] });
    expect([may(alice, action, 'temp.x', groups, grants), may(web1, action, 'temp.x', groups, grants)]).toEqual([
      true,
      false,
    ]);
  });

  it('says nothing about the other action', () => {
    const grants = [grant(action, 'temp.*', 'alice')];
    expect(may(person('bob'), action === 'publish' ? 'subscribe' : 'publish', 'temp.x', undefined, grants)).toBe(true);
  });
});

describe('speaking for others, as relays do', () => {
  it('is for the members of event_relays: by default for nobody, admins neither', () => {
    const relay = (who: Identity, groups: Groups) =>
      eventAccess(who, ORGANIZATION, { groups, grants: [] }, FOLLOWERS).relay;
    expect(relay(person('root', true), groupsOf({ admins: ['root'] }))).toBe(false);
    expect(relay(alice, groupsOf({ event_relays: ['alice'] }))).toBe(true);
  });

  it('takes every event of the organization, so that none is missing below', () => {
    const grants = [{ action: 'subscribe' as const, pattern: 'temp.*', holders: members({ users: ['bob'] }) }];
    const groups = groupsOf({ event_relays: ['alice'], event_readers: ['bob'], push_job_readers: ['bob'] });
    const { subscribe } = eventAccess(alice, ORGANIZATION, { groups, grants }, FOLLOWERS);
    for (const type of ['temp.high', 'push.start', 'auth.user.create', 'x']) expect(allows(subscribe, type)).toBe(true);
  });

  it('is not changed by what others are granted, so that no grant cuts a tree of relays', () => {
    const grants = [grant('publish', 'temp.*', 'bob'), grant('subscribe', 'temp.*', 'bob')];
    const given = { event_relays: ['alice'] };
    const before = eventAccess(alice, ORGANIZATION, { groups: groupsOf(given), grants: [] }, FOLLOWERS);
    const groups = groupsOf({ ...given, event_readers: ['bob'], event_writers: ['bob'] });
    expect(eventAccess(alice, ORGANIZATION, { groups, grants }, FOLLOWERS)).toEqual(before);
  });
});

it('the source is the organization and the name', () => {
  const access = eventAccess(web1, ORGANIZATION, { groups: groupsOf({}), grants: [] }, FOLLOWERS);
  expect(access).toMatchObject({ org: 'default', principal: 'default/web1' });
});

it('a pattern fits Muster’s own types when some type fits both', () => {
  const types = OWN_TYPES.flatMap((own) => [own.replace('*', ''), own.replace('*', 'x'), own.replace('*', 'xyz.up')]);
  const pattern = fc.oneof(
    fc.constantFrom('*', 'n*', 'node', 'node*', 'node.*', 'node.x', 'nodes.*', 'temp.*', 'eventful', 'event.xyz*'),
    fc
      .tuple(fc.constantFrom('', 'no', 'push', 'push.', 'zebra.'), fc.constantFrom('', 'x', '*', 'x*'))
      .map((t) => t.join('')),
  );
  fc.assert(
    fc.property(pattern, (one) => {
      expect(fitsOwnType(one)).toBe(types.some((type) => fits(one, type)));
    }),
  );
});
