import type { Cursor, PrincipalKind } from '@muster/fabric';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { cursorsConformance } from '../../fabric/test/support/ports-conformance.js';
import { type IsMember, StoredCursors } from '../src/events/cursors.js';
import { type Directory, openDirectory } from './support/directory.js';
import { ME } from './support/personas.js';

const cursorsOf = ({ store, auth }: Directory, isMember: IsMember = async () => true) =>
  new StoredCursors(store, async (name) => (await auth.repository.organization(name))?.id, isMember);

cursorsConformance('the database', async () => {
  const directory = await openDirectory();
  await directory.auth.organizations.create('other', ME);
  return { cursors: cursorsOf(directory), org: 'default', otherOrg: 'other', end: () => directory.close() };
});

let directory: Directory;
let cursors: StoredCursors;
beforeAll(async () => {
  directory = await openDirectory();
  cursors = cursorsOf(directory);
});
afterAll(() => directory.close());

const cursor = (org: string, name: string, kind: PrincipalKind = 'user'): Cursor => ({
  org,
  principal: `${org}/${name}`,
  kind,
  name: 'inbox',
  through: 1,
  acknowledged: [],
  selector: '',
  savedMs: 0,
});

it('the cursors of a user go with the user, in every organization, and nobody else’s', async () => {
  const second = await directory.auth.organizations.create('second', ME);
  await directory.addUser('leaving');
  await directory.auth.organizations.addMember(second, 'leaving', ME);
  await cursors.save([cursor('default', 'leaving'), cursor('second', 'leaving'), cursor('default', 'staying')]);
  await directory.auth.principals.removeUser('leaving', ME);
  expect(await cursors.list('second')).toEqual([]);
  expect(await cursors.list('default')).toEqual([cursor('default', 'staying')]);
});

it('the cursors of who leaves an organization go, those elsewhere stay', async () => {
  const third = await directory.auth.organizations.create('third', ME);
  await directory.addUser('wandering');
  await directory.auth.organizations.addMember(third, 'wandering', ME);
  await cursors.save([cursor('third', 'wandering'), cursor('default', 'wandering')]);
  await directory.auth.organizations.removeMember(third, 'wandering', ME);
  expect(await cursors.list('third')).toEqual([]);
  expect(await cursors.load(cursor('default', 'wandering'))).not.toBeNull();
});

it('nothing is kept for who is not in the organization any more', async () => {
  const kept = cursorsOf(directory, async (_, kind, name) => kind === 'user' && name === 'staying');
  await kept.save([cursor('default', 'removed'), cursor('default', 'staying'), cursor('default', 'staying', 'node')]);
  expect(await kept.load(cursor('default', 'removed'))).toBeNull();
  expect(await kept.load(cursor('default', 'staying'))).not.toBeNull();
  expect(await kept.load(cursor('default', 'staying', 'node'))).toBeNull();
});

it('the cursors of a client stay when a user of its name goes, and the other way round', async () => {
  const { organizations, principals } = directory.auth;
  for (const leaves of ['user', 'member', 'service'] as const) {
    const name = `both-${leaves}`;
    await directory.addUser(name);
    await directory.addClient('service', name);
    await cursors.save([cursor('default', name), cursor('default', name, 'service')]);
    if (leaves === 'user') await principals.removeUser(name, ME);
    else if (leaves === 'member') await organizations.removeMember(directory.organization, name, ME);
    else await principals.removeClient(directory.organization.id, 'service', name, ME);
    const left = (await cursors.list('default')).filter(({ principal }) => principal.endsWith(name));
    expect(left.map(({ kind }) => kind)).toEqual([leaves === 'service' ? 'user' : 'service']);
  }
});

it('nothing is kept for an organization that is gone', async () => {
  const passing = await directory.auth.organizations.create('passing', ME);
  await cursors.save([cursor('passing', 'alice')]);
  await directory.auth.organizations.remove(passing, ME);
  await cursors.save([cursor('passing', 'alice')]);
  expect(await cursors.load(cursor('passing', 'alice'))).toBeNull();
  expect(await cursors.list('passing')).toEqual([]);
  expect(await cursors.delete(cursor('passing', 'alice'))).toBe(false);
  await directory.auth.organizations.create('passing', ME);
  expect(await cursors.list('passing')).toEqual([]);
});
