import { type Recorder, readOwnEvent, type StoredEvent, typeOfOwn } from '@muster/platform/log';
import type { Schema } from '@muster/store';
import { standingsOf } from '@muster/tasks';
import type { Kysely } from 'kysely';
import type { TaskRunner } from './types.js';

export interface FollowingDeps {
  readonly recorder: Pick<Recorder, 'onStored'>;
  readonly read: Kysely<Schema>;
}

/** How tasks stand, as stored, and who is told of one when an event tells of it. */
export function followTasks({
  recorder,
  read,
}: FollowingDeps): Pick<TaskRunner, 'follow' | 'standing'> & { readonly stop: () => void } {
  const followers = new Map<string, Set<() => void>>();
  const stop = recorder.onStored((events) => {
    if (followers.size === 0) return;
    for (const task of new Set(events.flatMap(tasksOf))) for (const changed of followers.get(task) ?? []) changed();
  });
  return {
    stop,
    async standing(orgId, task) {
      return (await standingsOf(read, orgId, [task])).get(task) ?? null;
    },
    follow(task, changed) {
      const own = followers.get(task) ?? new Set();
      followers.set(task, own.add(changed));
      return () => {
        own.delete(changed);
        if (own.size === 0 && followers.get(task) === own) followers.delete(task);
      };
    },
  };
}

/** The task that an event tells of. Of tasks that were deleted together only the first is named. */
function tasksOf({ recorded }: StoredEvent): string[] {
  if (recorded.origin.kind !== 'server' || !typeOfOwn(recorded).startsWith('task.')) return [];
  const { task } = readOwnEvent(recorded).attributes;
  return task === undefined ? [] : [task];
}
