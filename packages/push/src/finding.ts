import type { Auth } from '@muster/platform/auth';
import { type Finder, firstSeen, named } from '@muster/platform/finding';
import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { jobStatuses, jobsBeginning, newestCommands } from './repository/reads.js';
import { idsBeginning } from './request/job-id.js';
import './rights.js';
import './runbooks/rights.js';
import type { RunbookLayer } from './runbooks/layer.js';

/** Newest push jobs among whose commands is sought. */
const NEWEST = 500;

export interface PushFindersDeps {
  readonly read: Kysely<Schema>;
  readonly runbooks: Pick<RunbookLayer['runbooks'], 'all'>;
  readonly auth: Pick<Auth, 'authorize'>;
}

export function pushFinders({ read, runbooks, auth }: PushFindersDeps): readonly Finder[] {
  const jobs: Finder = {
    kind: 'push_job',
    permission: 'push:read',
    async find({ organization: { id: orgId }, text, most }) {
      const beginning = idsBeginning(orgId, text.toLowerCase());
      const byId = beginning === null ? [] : await jobsBeginning(read, orgId, beginning, most);
      const newest = await newestCommands(read, orgId, NEWEST);
      const known = new Set(byId.map(({ id }) => id));
      const byCommand = named(newest, text, { name: ({ command }) => command }).filter(({ id }) => !known.has(id));
      const found = [...byId, ...byCommand].slice(0, most);
      const standing = await jobStatuses(
        read,
        found.map(({ id }) => id),
      );
      const statuses = new Map(standing.map(({ id, status }) => [id, status]));
      return found.map(({ id, command }) => ({ id, name: command, more: statuses.get(id) ?? null }));
    },
  };
  const saved: Finder = {
    kind: 'runbook',
    permission: null,
    async find({ caller, organization, text, most }) {
      const all = named(await runbooks.all(organization), text, { name: ({ name }) => name });
      const seen = await firstSeen(all, most, async ({ name }) => {
        if (await auth.authorize(caller, organization, 'runbook:run', name)) return true;
        return auth.authorize(caller, organization, 'runbook:read', name);
      });
      return seen.map(({ name }) => ({ id: name, name, more: null }));
    },
  };
  return [jobs, saved];
}
