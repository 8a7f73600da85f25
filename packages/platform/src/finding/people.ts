import type { Auth } from '../auth/auth.js';
import { AUTH_LIMITS } from '../auth/limits.js';
import { type Finder, named } from './finder.js';

/** Users, services and groups, for those who administer them. */
export function peopleFinders(auth: Pick<Auth, 'organizations' | 'repository'>): readonly Finder[] {
  const people = (type: 'user' | 'service'): Finder => ({
    kind: type,
    permission: 'org:admin',
    async find({ organization, text, most }) {
      const all = await auth.organizations.people(organization.id, AUTH_LIMITS.peopleShown, { type });
      const found = named(all, text, { name: ({ name }) => name }).slice(0, most);
      return found.map(({ name }) => ({ id: name, name, more: null }));
    },
  });
  const groups: Finder = {
    kind: 'group',
    permission: 'org:admin',
    async find({ organization, text, most }) {
      const all = [...(await auth.repository.groups(organization.id)).keys()];
      const found = named(all, text, { name: (name) => name }).slice(0, most);
      return found.map((name) => ({ id: name, name, more: null }));
    },
  };
  return [people('user'), people('service'), groups];
}
