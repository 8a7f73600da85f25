import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EventGrants } from '../src/events/grants.js';
import { EVENT_LIMITS } from '../src/events/limits.js';
import { type Directory, openDirectory } from './support/directory.js';
import { ME } from './support/personas.js';

const NOBODY = { users: [], clients: [], groups: [] };
let directory: Directory;
let grants: EventGrants;

beforeAll(async () => {
  directory = await openDirectory();
  grants = new EventGrants(directory.auth.changes, directory.auth.repository);
});
afterAll(() => directory.close());

const put = (
  pattern: string,
  holders: Partial<typeof NOBODY> | { users: string[] },
  action: 'publish' | 'subscribe' = 'publish',
) => grants.put(directory.organization, { action, pattern }, { ...NOBODY, ...holders }, ME);
const listed = () => grants.list(directory.organization.id);

describe('a restriction of event types', () => {
  it('names who may, each once', async () => {
    const holders = { users: ['bob', 'alice', 'bob'], clients: ['web1'], groups: ['oncall'] };
    const set = await grants.put(directory.organization, { action: 'publish', pattern: 'named.*' }, holders, ME);
    expect(set).toEqual({
      action: 'publish',
      pattern: 'named.*',
      users: ['alice', 'bob'],
      clients: ['web1'],
      groups: ['oncall'],
    });
    expect(await listed()).toContainEqual(set);
  });

  it('replaces the one there was, of the same action', async () => {
    await put('replaced', { users: ['alice'] });
    await put('replaced', { users: ['bob'] }, 'subscribe');
    await put('replaced', { users: ['carol'] });
    const found = (await listed()).filter(({ pattern }) => pattern === 'replaced');
    expect(found.map(({ action, users }) => [action, users])).toEqual([
      ['publish', ['carol']],
      ['subscribe', ['bob']],
    ]);
  });

  it('may be for nobody', async () => {
    expect(await put('nobody', {})).toEqual({ action: 'publish', pattern: 'nobody', ...NOBODY });
    expect(await listed()).toContainEqual({ action: 'publish', pattern: 'nobody', ...NOBODY });
  });

  it('stays when its last holder is deleted: that opens nothing', async () => {
    await directory.addUser('leaving');
    await put('left', { users: ['leaving'] });
    await directory.auth.principals.removeUser('leaving', ME);
    expect(await listed()).toContainEqual({ action: 'publish', pattern: 'left', ...NOBODY });
  });

  it('is gone when it is removed, and then cannot be removed', async () => {
    const target = { action: 'publish', pattern: 'gone' } as const;
    await put('gone', { users: ['alice'] });
    await grants.remove(directory.organization, target, ME);
    expect((await listed()).map(({ pattern }) => pattern)).not.toContain('gone');
    await expect(grants.remove(directory.organization, target, ME)).rejects.toMatchObject({ code: 'not_found' });
  });

  it.each(['push.x', 'node.*', 'no*', '*'])(
    'to publish %s is refused: those are Muster’s own types',
    async (pattern) => {
      await expect(put(pattern, {})).rejects.toMatchObject({ code: 'invalid_field', details: { field: 'pattern' } });
      await expect(put(pattern, {}, 'subscribe')).resolves.toMatchObject({ pattern });
    },
  );

  it('is audited', async () => {
    await put('audited', { users: ['alice'] });
    await grants.remove(directory.organization, { action: 'publish', pattern: 'audited' }, ME);
    const entries = await directory.auth.audit.page({ orgId: directory.organization.id, limit: 2 });
    expect(entries).toMatchObject([
      { action: 'event_access.delete', actor: ME, target: 'publish audited' },
      { action: 'event_access.set', actor: ME, target: 'publish audited', detail: { holders: 'user:alice' } },
    ]);
  });

  it('goes with its organization', async () => {
    const other = await directory.auth.organizations.create('other', ME);
    await grants.put(other, { action: 'publish', pattern: 'x' }, NOBODY, ME);
    await directory.auth.organizations.remove(other, ME);
    await directory.auth.remnants.clear();
    const rows = await directory.store.read.selectFrom('event_grants').select('org_id').distinct().execute();
    expect(rows).toEqual([{ org_id: directory.organization.id }]);
  });
});

describe('too many', () => {
  it('restricted patterns are refused; changing one there is is not', async () => {
    const organization = await directory.auth.organizations.create('many', ME);
    await directory.store.transact((trx) =>
      trx
        .insertInto('event_grants')
        .values(
          Array.from({ length: EVENT_LIMITS.grantPatterns }, (_, n) => ({
            org_id: organization.id,
            action: 'publish' as const,
            pattern: `p${n}`,
            kind: 'user' as const,
            member: 'alice',
          })),
        )
        .execute(),
    );
    const set = (pattern: string) => grants.put(organization, { action: 'publish', pattern }, NOBODY, ME);
    await expect(set('more')).rejects.toMatchObject({ code: 'too_busy' });
    await expect(set('p0')).resolves.toMatchObject({ pattern: 'p0' });
  });

  it('holders are refused', async () => {
    const users = Array.from({ length: EVENT_LIMITS.grantHolders + 1 }, (_, n) => `u${n}`);
    await expect(put('crowd', { users })).rejects.toMatchObject({ code: 'too_busy' });
  });
});
