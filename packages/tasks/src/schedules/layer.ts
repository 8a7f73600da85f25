import type { Auth, IdentityListener } from '@muster/platform/auth';
import type { Base, Layer } from '@muster/platform/layers';
import { createPushStarter, type Push, type PushStarter, type RunbookLayer } from '@muster/push';
import { Calendars } from '../calendars/calendars.js';
import type { TaskController } from '../ports.js';
import { ScheduleAdministration } from './administration.js';
import { ScheduleController } from './controller.js';
import { filesOfSchedules } from './files.js';
import { GrantedSchedules } from './granted.js';
import type { Blackouts } from './live-schedule.js';
import { Runs } from './runs.js';
import { Turns } from './turns.js';

export interface SchedulesDeps {
  readonly auth: Auth;
  readonly push: Pick<Push, 'controller' | 'files' | 'limits' | 'nodes' | 'secrets'> & {
    readonly owners: Pick<Push['owners'], 'awaitsNodes'>;
  };
  readonly tasks: { readonly controller: TaskController };
  readonly runbooks: Pick<RunbookLayer, 'approvals'>;
}

export interface Schedules extends Required<Omit<Layer, 'status'>>, Pick<IdentityListener, 'organizationRemoved'> {
  readonly calendars: Calendars;
  readonly controller: ScheduleController;
  readonly administration: ScheduleAdministration;
  readonly runs: Runs;
  readonly starter: PushStarter;
  readonly granted: GrantedSchedules;
  readonly approvals: RunbookLayer['approvals'];
}

/** Schedules of tasks and push jobs, composed. Started after both, and stopped before them. */
export function createSchedules(base: Base, { auth, push, tasks, runbooks }: SchedulesDeps): Schedules {
  const { store, recorder, clock, random, logger } = base;
  const starter = createPushStarter(base, push, auth);
  const runs = new Runs({ read: store.read, tasks: tasks.controller, push: starter, auth });
  const turns = new Turns({ store, recorder, clock, auth, runs });
  const calendars = new Calendars({ store, auth, logger });
  const blackouts: Blackouts =
    ({ org, notDuring }) =>
    (at) =>
      calendars.at(org.id, notDuring, at);
  const controller = new ScheduleController({
    ...{ store, recorder, clock, logger, turns, blackouts },
    awaitsNodes: () => push.owners.awaitsNodes,
  });
  const administration = new ScheduleAdministration({ store, recorder, clock, random, controller, turns, blackouts });
  push.files.heldBy(() => filesOfSchedules(store.read));
  const { approvals } = runbooks;
  const granted = new GrantedSchedules({ read: store.read, auth, starter, controller, administration });
  approvals.handle('schedule', granted);
  calendars.onChanged(() => controller.look());
  calendars.heeds(async (orgId, calendar) => {
    const heeding = controller.of(orgId).filter(({ schedule }) => schedule.notDuring.includes(calendar));
    return heeding.map(({ schedule }) => `schedule ${schedule.name}`);
  });
  return {
    calendars,
    controller,
    administration,
    runs,
    starter,
    granted,
    approvals,
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
