import type { Auth, IdentityListener } from '@muster/platform/auth';
import type { Base, Layer } from '@muster/platform/layers';
import { createPushStarter, type Push, type PushStarter } from '@muster/push';
import { Calendars } from '../calendars/calendars.js';
import type { TaskController } from '../ports.js';
import { ScheduleAdministration } from './administration.js';
import { ScheduleController } from './controller.js';
import type { Blackouts } from './live-schedule.js';
import { Runs } from './runs.js';
import { Turns } from './turns.js';

export interface SchedulesDeps {
  readonly auth: Auth;
  readonly push: Pick<Push, 'controller' | 'files' | 'limits' | 'nodes' | 'secrets'>;
  readonly tasks: { readonly controller: TaskController };
}

export interface Schedules extends Required<Omit<Layer, 'status'>>, Pick<IdentityListener, 'organizationRemoved'> {
  readonly calendars: Calendars;
  readonly controller: ScheduleController;
  readonly administration: ScheduleAdministration;
  readonly runs: Runs;
  readonly starter: PushStarter;
}

/** Schedules of tasks and push jobs, composed. Started after both, and stopped before them. */
export function createSchedules(base: Base, { auth, push, tasks }: SchedulesDeps): Schedules {
  const { store, recorder, clock, random, logger } = base;
  const starter = createPushStarter(base, push, auth);
  const runs = new Runs({ read: store.read, tasks: tasks.controller, push: starter, auth });
  const turns = new Turns({ store, recorder, clock, auth, runs });
  const calendars = new Calendars({ store, auth, logger });
  const blackouts: Blackouts =
    ({ org, notDuring }) =>
    (at) =>
      calendars.at(org.id, notDuring, at);
  const controller = new ScheduleController({ store, recorder, clock, logger, turns, blackouts });
  const administration = new ScheduleAdministration({ store, recorder, clock, random, controller, turns, blackouts });
  calendars.onChanged(() => controller.look());
  calendars.heeds(async (orgId, calendar) => {
    const heeding = controller.of(orgId).find(({ schedule }) => schedule.notDuring.includes(calendar));
    return heeding === undefined ? null : `schedule ${heeding.schedule.name}`;
  });
  return {
    calendars,
    controller,
    administration,
    runs,
    starter,
    organizationRemoved(orgId) {
      controller.forget(orgId);
      calendars.forget(orgId);
    },
    async load() {
      await calendars.load();
      await controller.load();
    },
    start: () => controller.start(),
    stop: () => controller.stop(),
  };
}
