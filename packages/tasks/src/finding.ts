import type { Auth } from '@muster/platform/auth';
import { type Finder, firstSeen, named } from '@muster/platform/finding';
import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import type { TaskController } from './ports.js';
import { tasksBeginning } from './repository/reads.js';
import './rights.js';
import './schedules/rights.js';
import { ScheduleAccess } from './schedules/access.js';
import type { Schedules } from './schedules/layer.js';
import { statusName } from './status.js';

/** What ids of tasks begin with: all digits of the second at least, so that not too many begin alike. */
const BEGINNING = /^[0-9a-f]{8,24}$/;

/** Tasks that begin alike, among which those are that somebody may look at. */
const READ = 50;

export interface TaskFindersDeps {
  readonly read: Kysely<Schema>;
  readonly tasks: Pick<TaskController, 'queue' | 'queues'>;
  readonly schedules: { readonly controller: Pick<Schedules['controller'], 'of'> };
  readonly auth: Pick<Auth, 'authorize' | 'rights'>;
}

export function taskFinders({ read, tasks, schedules, auth }: TaskFindersDeps): readonly Finder[] {
  const access = new ScheduleAccess(auth);
  const queues: Finder = {
    kind: 'queue',
    permission: null,
    async find({ caller, organization, text, most }) {
      const all = named(tasks.queues(organization.id), text, { name: ({ name }) => name });
      const seen = await firstSeen(all, most, ({ id }) => auth.authorize(caller, organization, 'queue:read', id));
      return seen.map(({ name }) => ({ id: name, name, more: null }));
    },
  };
  const byId: Finder = {
    kind: 'task',
    permission: null,
    async find({ caller, organization, text, most }) {
      const beginning = text.toLowerCase();
      if (!BEGINNING.test(beginning)) return [];
      const all = await tasksBeginning(read, organization.id, beginning, READ);
      const seen = await firstSeen(all, most, ({ id }) => auth.authorize(caller, organization, 'task:read', id));
      return seen.map(({ id, queue_id: queue, status }) => {
        return { id, name: tasks.queue(organization.id, queue)?.name ?? id, more: statusName(status) };
      });
    },
  };
  const planned: Finder = {
    kind: 'schedule',
    permission: 'schedule:use',
    async find({ caller, organization, text, most }) {
      const all = named(schedules.controller.of(organization.id), text, { name: ({ schedule }) => schedule.name });
      const seen = await access.readable(caller, all);
      return seen.slice(0, most).map(({ schedule: { name } }) => ({ id: name, name, more: null }));
    },
  };
  return [queues, byId, planned];
}
