import type { Recordable } from '@muster/platform/log';
import { SCHEDULE_EVENTS } from './event-types.js';
import type { ScheduleEffect } from './machine.js';
import type { Schedule, ScheduleStatus } from './types.js';

/** What schedules tell. */

const aboutOf = ({ id, name }: Schedule) => ({ schedule: id, name });
const subjectOf = ({ id }: Schedule) => `schedule/${id}`;

export function scheduleCreated(schedule: Schedule, by: string): Recordable {
  const { cron, timezone, org } = schedule;
  const data = { cron, timezone };
  return SCHEDULE_EVENTS.tell('schedule.created', org, { ...aboutOf(schedule), by }, data, subjectOf(schedule));
}

export function scheduleChanged(
  schedule: Schedule,
  state: ScheduleStatus,
  changed: readonly string[],
  by: string,
): Recordable {
  const attributes = { ...aboutOf(schedule), by, state };
  const data = { changed: [...changed] };
  return SCHEDULE_EVENTS.tell('schedule.changed', schedule.org, attributes, data, subjectOf(schedule));
}

export function scheduleRemoved(schedule: Schedule, by: string): Recordable {
  const attributes = { ...aboutOf(schedule), by };
  return SCHEDULE_EVENTS.tell('schedule.removed', schedule.org, attributes, {}, subjectOf(schedule));
}

export function scheduleRan(schedule: Schedule, dueAt: number, run: string, now: number): Recordable {
  const started = schedule.work.kind === 'task' ? { task: run } : { job: run };
  const data = { due_at: dueAt, late_ms: Math.max(0, now - dueAt) };
  const attributes = { ...aboutOf(schedule), ...started };
  return SCHEDULE_EVENTS.tell('schedule.ran', schedule.org, attributes, data, subjectOf(schedule));
}

/** What is told of a step; of a run its own event tells. */
export function scheduleStepped(schedule: Schedule, effects: readonly ScheduleEffect[]): Recordable[] {
  return effects.flatMap((effect) => {
    switch (effect.type) {
      case 'run':
        return [];
      case 'missed': {
        const { count, firstAt, lastAt, reason } = effect;
        const data = { first_at: firstAt, last_at: lastAt, reason };
        const attributes = { ...aboutOf(schedule), count };
        return [SCHEDULE_EVENTS.tell('schedule.missed', schedule.org, attributes, data, subjectOf(schedule))];
      }
      case 'held': {
        const data = { reason: effect.reason };
        return [SCHEDULE_EVENTS.tell('schedule.held', schedule.org, aboutOf(schedule), data, subjectOf(schedule))];
      }
    }
  });
}
