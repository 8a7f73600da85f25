import type { Auth } from '@muster/platform/auth';
import { type Finder, named } from '@muster/platform/finding';
import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { askerOf } from './controller/asker.js';
import './rights.js';
import { newestJobs } from './search/search.js';

/** Jobs that were changed last, among which is sought. */
const NEWEST = 250;

export interface JobFinderDeps {
  readonly read: Kysely<Schema>;
  readonly auth: Pick<Auth, 'authorize'>;
}

/** Jobs by their name or the beginning of their id: one's own and those that are shared with one, or all for admins of jobs. */
export function jobFinder({ read, auth }: JobFinderDeps): Finder {
  return {
    kind: 'job',
    permission: 'job:use',
    async find({ caller, organization, text, most }) {
      const asker = await askerOf(auth, caller, organization);
      const jobs = await newestJobs(read, organization.id, asker, NEWEST);
      const found = named(jobs, text, { name: ({ name }) => name, id: ({ uuid }) => uuid }).slice(0, most);
      return found.map(({ uuid: id, name, status }) => ({ id, name, more: status }));
    },
  };
}
