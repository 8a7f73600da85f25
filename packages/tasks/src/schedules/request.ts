import type { PushStarter } from '@muster/push';
import { TASK_LIMITS } from '../limits.js';
import { type Fields, invalid, text } from '../request/fields.js';
import { readNewTask } from '../request/new-task.js';
import { placeOf } from '../secrets/use.js';
import type { Queue } from '../types.js';
import type { NewSchedule, ScheduleChanges } from './administration.js';
import { Cron, CronMistake, Zone } from './cron/index.js';
import type { ScheduleBodyFields, ScheduleChangesFields } from './schemas.js';
import type { Timing, Work } from './types.js';

export interface WorkReader {
  /** A queue of the organization, by its name or id. @throws MusterError `not_found` */
  readonly queueOf: (idOrName: string) => Pick<Queue, 'id' | 'plugin' | 'rules'>;
  /** Names of calendars that there are. @throws MusterError `not_found`, `invalid_field` */
  readonly heeded: (names: readonly string[]) => readonly string[];
  readonly push: Pick<PushStarter, 'read'>;
  readonly maxParams: number;
}

/** A schedule as it is made. @throws MusterError `invalid_field` and whatever its task or push job is refused with. */
export function readNewSchedule(body: ScheduleBodyFields, reader: WorkReader): NewSchedule {
  const { cron, timezone = 'UTC', missed = 'run-once', overlap = 'skip', paused = false } = body;
  const { not_during: names = [], blackout = 'skip' } = body;
  const timing = checked({ cron, timezone, missed, overlap, blackout, notDuring: reader.heeded(names) });
  const work = readWork(body, reader);
  if (work === undefined) throw invalid('task', 'it is missing: give task or push');
  return { ...timing, name: scheduleName(body.name), work, paused };
}

/** @throws MusterError as `readNewSchedule`. */
export function readScheduleChanges(
  { task, push, not_during: names, ...timing }: ScheduleChangesFields,
  before: Timing,
  reader: WorkReader,
): ScheduleChanges {
  const { cron, timezone } = checked({ ...before, ...timing });
  const work = readWork({ ...(task && { task }), ...(push && { push }) }, reader);
  return {
    ...timing,
    ...(names !== undefined && { notDuring: reader.heeded(names) }),
    ...(timing.cron !== undefined && { cron }),
    ...(timing.timezone !== undefined && { timezone }),
    ...(work !== undefined && { work }),
  };
}

/** `.` and `..` are no parts of an address. */
function scheduleName(value: string): string {
  const name = text('name', value, TASK_LIMITS.name);
  if (name === '.' || name === '..' || name !== name.trim()) {
    throw invalid('name', 'must be neither . nor .., and not begin or end with a blank');
  }
  return name;
}

function checked(timing: Timing): Timing {
  const zone = Zone.find(timing.timezone);
  if (zone === undefined) {
    throw invalid('timezone', 'there is none of this name; write one such as Europe/Berlin or UTC');
  }
  try {
    return { ...timing, cron: new Cron(timing.cron, zone).expression };
  } catch (error) {
    if (error instanceof CronMistake) throw invalid('cron', error.message);
    throw error;
  }
}

function readWork({ task, push }: { readonly task?: object; readonly push?: object }, reader: WorkReader) {
  if (task !== undefined && push !== undefined) throw invalid('push', 'give either task or push');
  const work = task === undefined ? push && readPush(push as Fields, reader) : readTask(task as Fields, reader);
  if (work === undefined) return undefined;
  const bytes = Buffer.byteLength(JSON.stringify(work));
  const most = TASK_LIMITS.scheduledWork;
  if (bytes > most) throw invalid(work.kind, `has ${bytes} bytes as JSON; at most ${most}`);
  return work;
}

/** What has its own time, or is of one run only. */
const NOT_SCHEDULED = ['not_before', 'expires_at', 'after', 'unique'] as const;

function readTask({ queue, ...task }: Fields, { queueOf, maxParams }: WorkReader): Work {
  for (const field of NOT_SCHEDULED) {
    if (task[field] !== undefined) throw invalid(`task.${field}`, 'a task of a schedule cannot have it');
  }
  const found = queueOf(text('task.queue', queue, TASK_LIMITS.name));
  const { params, options = {} } = readNewTask(task, maxParams);
  const { priority, retries, timeout, secrets } = options;
  const given = {
    ...(priority !== undefined && { priority }),
    ...(retries != null && { retries }),
    ...(timeout != null && { timeout }),
    ...(secrets && { secrets, place: placeOf(found) }),
  };
  return { kind: 'task', queueId: found.id, params, options: given };
}

function readPush(job: Fields, { push }: WorkReader): Work {
  const { command } = push.read(job);
  return { kind: 'push', job, command };
}
