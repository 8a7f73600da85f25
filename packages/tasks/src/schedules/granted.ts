import { type Auth, actorOf, type Identity, type Organization, whilePresent } from '@muster/platform/auth';
import {
  describeTarget,
  filesOf,
  type Granted,
  type Needs,
  type PushStarter,
  type StandingOrder,
  type Startable,
  stillMay,
} from '@muster/push';
import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { MusterError } from '../errors.js';
import { ScheduleAccess } from './access.js';
import type { NewSchedule, ScheduleAdministration } from './administration.js';
import type { ScheduleController } from './controller.js';
import type { LiveSchedule } from './live-schedule.js';
import { workOf } from './repository.js';
import type { Work } from './types.js';

/** A schedule as it will be once others have agreed: everything that decides what it starts, and when. */
interface Content {
  /** Of the one that is changed, as it was looked at; null: it is made. */
  readonly before: { readonly id: string; readonly updatedAt: number } | null;
  readonly schedule: NewSchedule;
}

export interface GrantedSchedulesDeps {
  readonly read: Kysely<Schema>;
  readonly auth: Pick<Auth, 'audit' | 'authorize' | 'organizations' | 'rights'>;
  readonly starter: PushStarter;
  readonly controller: Pick<ScheduleController, 'find'>;
  readonly administration: Pick<ScheduleAdministration, 'change' | 'create'>;
}

/** Schedules of push jobs to which others have to agree, as policies of approval want it. */
export class GrantedSchedules implements Startable<'schedule'> {
  readonly #deps: GrantedSchedulesDeps;
  readonly #access: ScheduleAccess;

  constructor(deps: GrantedSchedulesDeps) {
    this.#deps = deps;
    this.#access = new ScheduleAccess(deps.auth);
  }

  /** Who has to agree to it as it would be now; null: nobody. */
  async asks(org: Organization, asker: Identity, work: Work): Promise<Needs | null> {
    const { starter } = this.#deps;
    return work.kind === 'task' ? null : starter.asks(asker, org, starter.read(work.job));
  }

  /** @param live The one that is changed; null: it is made. */
  orderOf(
    live: LiveSchedule | null,
    schedule: NewSchedule & { readonly work: Extract<Work, { kind: 'push' }> },
  ): StandingOrder {
    const { command, target, options } = this.#deps.starter.read(schedule.work.job);
    const before = live && { id: live.schedule.id, updatedAt: live.schedule.updatedAt };
    const content: Content = { before, schedule };
    return {
      kind: 'schedule',
      name: schedule.name,
      command,
      target: `${describeTarget(target)}, at ${schedule.cron} in ${schedule.timezone}`,
      content: { ...content },
      files: filesOf(options).map(({ sha256 }) => sha256),
      script: options.script?.sha256 ?? null,
    };
  }

  /** As it stands, with these changes. */
  async changed(live: LiveSchedule, changes: Partial<NewSchedule>): Promise<NewSchedule | null> {
    const work = changes.work ?? (await workOf(this.#deps.read, live.schedule.id));
    if (work === undefined) return null;
    const { name, cron, timezone, missed, overlap, notDuring, blackout } = live.schedule;
    const kept = { name, cron, timezone, missed, overlap, notDuring, blackout, paused: false };
    return { ...kept, ...changes, work };
  }

  async void(org: Organization, order: StandingOrder, asker: Identity): Promise<string | null> {
    const { before, schedule } = contentOf(order);
    const live = this.#deps.controller.find(org.id, schedule.name);
    if (before === null && live !== undefined) return `there is a schedule ${schedule.name} by now`;
    if (before !== null && (live?.schedule.id !== before.id || live.schedule.updatedAt !== before.updatedAt)) {
      return `schedule ${schedule.name} was changed or deleted meanwhile`;
    }
    return stillMay(asker, async () => {
      await this.#access.assertMayStart(asker, org, schedule.work);
      if (live !== undefined) await this.#access.assertMayChange(asker, live.schedule);
      return null;
    });
  }

  async start(org: Organization, order: StandingOrder, granted: Granted): Promise<string> {
    const { auth, starter, controller, administration } = this.#deps;
    const { before, schedule } = contentOf(order);
    const { asker, approval, along } = granted;
    const asked = await this.asks(org, asker, schedule.work);
    const agreement = { approval, needs: granted.agreed(asked ?? { needs: [] }) };
    const files = schedule.work.kind === 'push' ? await starter.named(org, starter.read(schedule.work.job)) : [];
    const action = before === null ? 'schedule.create' : 'schedule.change';
    const detail = { approval };
    const entry = {
      orgId: org.id,
      actor: actorOf(asker),
      action,
      target: schedule.name,
      outcome: 'done',
      detail,
    } as const;
    const record = [auth.organizations.present(org), auth.audit.write(entry), ...files];
    const by = { identity: asker, record, agreement, along };
    if (before === null) return (await whilePresent(org, administration.create(org, schedule, by))).schedule.id;
    const live = controller.find(org.id, schedule.name);
    if (live?.schedule.id !== before.id) throw new MusterError('not_found', { kind: 'schedule', name: schedule.name });
    const { name: _, paused: _paused, ...changes } = schedule;
    await whilePresent(org, administration.change(live, changes, by));
    return live.schedule.id;
  }
}

/** Written by `orderOf`. */
function contentOf({ content }: StandingOrder): Content {
  return content as unknown as Content;
}
