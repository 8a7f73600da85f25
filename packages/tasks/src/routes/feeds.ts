import { type FeedEvent, formatMicros, LogFeed, positionOf } from '@muster/platform/feeds';
import type { Base } from '@muster/platform/layers';
import { type FeedContent, readOwnEvent } from '@muster/platform/log';
import { Value } from 'typebox/value';
import { QUEUE_EVENTS, TASK_EVENTS } from '../event-types.js';
import type { TaskController } from '../ports.js';

const SCHEMAS = { ...QUEUE_EVENTS.schemas, ...TASK_EVENTS.schemas };

export interface FollowedTask {
  /** How it stands; null: it is gone. */
  readonly look: () => Promise<{ readonly ended: boolean; readonly data: FeedEvent['data'] } | null>;
  readonly controller: Pick<TaskController, 'progress' | 'followProgress'>;
}

/** What is told of a queue and of its tasks. */
export class TaskFeeds {
  readonly #log: LogFeed;

  constructor({ store, recorder }: Pick<Base, 'recorder' | 'store'>) {
    this.#log = new LogFeed({ read: store.read, recorder });
  }

  /** Every stream ends. */
  close(): void {
    this.#log.close();
  }

  /** Without `lastEventId` only what happens from now on; ends with the queue. */
  async *ofQueue(queueId: string, lastEventId: string | undefined, signal: AbortSignal): AsyncGenerator<FeedEvent> {
    for await (const content of this.#contents(queueId, lastEventId, signal)) {
      const event = shown(content);
      yield event;
      if (event.event === 'queue.removed') return;
    }
  }

  /**
   * How a task stands, first at once and then after each change, until it has ended, and what its plugin says of its progress.
   */
  async *ofTask(
    task: { readonly id: string; readonly queueId: string },
    signal: AbortSignal,
    { look, controller }: FollowedTask,
  ): AsyncGenerator<FeedEvent> {
    // Listened to before the first look, so that no change falls in between.
    const changes = this.#contents(task.queueId, undefined, signal);
    const follower = controller.followProgress(task.id);
    try {
      for (let id = 0; ; ) {
        const now = await look();
        if (now === null) return;
        yield { event: 'task', id: String(id), data: now.data };
        if (now.ended) return;
        const changed = nextAbout(changes, task.id);
        while ((await Promise.race([changed, follower.news()])) === undefined) {
          const said = controller.progress(task.id);
          if (said !== null) yield { event: 'progress', id: String(id), data: { ...said } };
        }
        const change = await changed;
        if (change === null) return;
        id = change.position;
      }
    } finally {
      follower.stop();
      await changes.return(undefined);
    }
  }

  #contents(queueId: string, lastEventId: string | undefined, signal: AbortSignal): AsyncGenerator<FeedContent> {
    return this.#log.stream(`queue/${queueId}`, positionOf(lastEventId), signal);
  }
}

/** Null: the feed is over. */
async function nextAbout(changes: AsyncGenerator<FeedContent>, taskId: string): Promise<FeedContent | null> {
  for (;;) {
    const { value, done } = await changes.next();
    if (done === true) return null;
    const { type, attributes } = readOwnEvent(value.event);
    // Those that go together are told together.
    if (attributes.task === taskId || type === 'task.removed') return value;
  }
}

function shown({ position, at, event }: FeedContent): FeedEvent {
  const { type, attributes, data } = readOwnEvent(event);
  const schema = Object.hasOwn(SCHEMAS, type) ? SCHEMAS[type as keyof typeof SCHEMAS] : undefined;
  const typed = schema === undefined ? attributes : Value.Convert(schema.attributes, { ...attributes });
  const about = Object.entries(typed as object).filter(([name]) => name !== 'content-type');
  return {
    event: type,
    id: String(position),
    data: { timestamp: formatMicros(at * 1000), ...Object.fromEntries(about), ...(data as object) },
  };
}
