import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AUTH_LIMITS } from '../src/auth/limits.js';
import type { Identity } from '../src/auth/types.js';
import { type Directory, openDirectory } from './support/directory.js';
import { loggedEvents } from './support/event-log.js';
import { ME } from './support/personas.js';

let directory: Directory;
beforeEach(async () => {
  directory = await openDirectory();
  await directory.addUser('alice', null);
});
afterEach(() => directory.close());

const invite = (user = 'alice') => directory.auth.invitations.create(directory.organization, user, ME);
const open = async () => (await directory.auth.invitations.ofUser('alice')).map(({ organization }) => organization);
const members = async () =>
  (await directory.auth.organizations.members(directory.organization.id)).map(({ name }) => name);

async function identity(name: string): Promise<Identity> {
  const [found = expect.fail('no such user')] = await directory.auth.repository.candidates(null, name);
  return { ...found, publicKey: null };
}

describe('an invitation', () => {
  it('makes a member of who accepts it, and is gone then', async () => {
    const { id } = await invite();
    expect([await members(), await open()]).toEqual([[], ['default']]);
    expect(await directory.auth.invitations.accept(await identity('alice'), id)).toBe('default');
    expect([await members(), await open()]).toEqual([['alice'], []]);
    await expect(invite()).rejects.toMatchObject({ code: 'already_member' });
  });

  it('that is rejected changes nothing, and may be sent again', async () => {
    const { id } = await invite();
    await directory.auth.invitations.reject(await identity('alice'), id);
    expect([await members(), await open()]).toEqual([[], []]);
    await invite();
  });

  it('is answered by whom it was sent to, and by nobody else', async () => {
    await directory.addUser('bob', null);
    const { id } = await invite();
    const bob = await identity('bob');
    const { invitations } = directory.auth;
    await expect(invitations.accept(bob, id)).rejects.toMatchObject({ code: 'not_found' });
    await expect(invitations.reject(bob, id)).rejects.toMatchObject({ code: 'not_found' });
    expect([await members(), await open()]).toEqual([[], ['default']]);
  });

  it('is withdrawn by its own organization', async () => {
    const { invitations, organizations } = directory.auth;
    const other = await organizations.create('other', ME);
    const { id } = await invite();
    await expect(invitations.withdraw(other, id, ME)).rejects.toMatchObject({ code: 'not_found' });
    await invitations.withdraw(directory.organization, id, ME);
    await expect(invitations.accept(await identity('alice'), id)).rejects.toMatchObject({ code: 'not_found' });
    expect(await members()).toEqual([]);
  });

  it('is there once for each user and organization', async () => {
    await invite();
    await expect(invite()).rejects.toMatchObject({ code: 'already_invited' });
    const other = await directory.auth.organizations.create('other', ME);
    await directory.auth.invitations.create(other, 'alice', ME);
    expect((await open()).sort()).toEqual(['default', 'other']);
    await expect(invite('nobody')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('expires', async () => {
    const { id } = await invite();
    directory.clock.advance(AUTH_LIMITS.invitationTtl * 1000 - 1);
    expect(await open()).toEqual(['default']);
    directory.clock.advance(1);
    expect([await open(), await directory.auth.invitations.ofOrganization(directory.organization.id)]).toEqual([
      [],
      [],
    ]);
    await expect(directory.auth.invitations.accept(await identity('alice'), id)).rejects.toMatchObject({
      code: 'not_found',
    });
    await invite();
  });

  it('is not needed by who was made a member meanwhile', async () => {
    await invite();
    await directory.auth.organizations.addMember(directory.organization, 'alice', ME);
    expect(await open()).toEqual([]);
  });

  it('goes with its user: the next of the name inherits none', async () => {
    await directory.addUser('root');
    await invite();
    await directory.auth.principals.removeUser('alice', ME);
    await directory.addUser('alice', null);
    expect(await open()).toEqual([]);
    await invite();
  });

  it('goes with its organization', async () => {
    const other = await directory.auth.organizations.create('other', ME);
    const { id } = await directory.auth.invitations.create(other, 'alice', ME);
    await directory.auth.organizations.remove(other, ME);
    await directory.auth.organizations.create('other', ME);
    expect(await open()).toEqual([]);
    await expect(directory.auth.invitations.accept(await identity('alice'), id)).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('is one of so many that an organization may have open', async () => {
    const { store, organization, clock } = directory;
    const limit = AUTH_LIMITS.invitationsPerOrganization;
    const rows = Array.from({ length: limit }, (_, index) => ({
      id: `i${index}`,
      org_id: organization.id,
      principal_id: `p${index}`,
      invited_by: 'me',
      created_at: clock.now(),
      expires_at: clock.now() + 1000,
    }));
    await store.transact((trx) => trx.insertInto('org_invitations').values(rows).execute());
    await expect(invite()).rejects.toMatchObject({ code: 'too_busy', details: { what: 'invitations', limit } });
    clock.advance(1000);
    await invite();
  });

  it('is in the audit and told, as is what becomes of it', async () => {
    const alice = await identity('alice');
    const { invitations, audit } = directory.auth;
    await invitations.withdraw(directory.organization, (await invite()).id, ME);
    await invitations.reject(alice, (await invite()).id);
    await invitations.accept(alice, (await invite()).id);
    const told = (await loggedEvents(directory.store))
      .slice(-6)
      .map(({ type, attributes }) => [type, attributes.actor]);
    expect(told).toEqual([
      ['auth.invitation.create', 'me'],
      ['auth.invitation.delete', 'me'],
      ['auth.invitation.create', 'me'],
      ['auth.invitation.reject', 'alice'],
      ['auth.invitation.create', 'me'],
      ['auth.member.add', 'alice'],
    ]);
    const [newest] = await audit.page({ orgId: directory.organization.id, limit: 1 });
    expect(newest).toMatchObject({
      actor: { name: 'alice', kind: 'user' },
      action: 'member.add',
      target: 'alice',
      detail: { invited_by: 'me' },
    });
  });
});
