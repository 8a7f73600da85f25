import { MOST_NAMED, named } from '@muster/base';
import type { NodeSlots } from '../assign/node-slots.js';
import type { Scheduler } from '../assign/scheduler.js';
import type { LiveQueue } from '../queues/live-queue.js';
import type { TaskRow } from '../repository/writes.js';
import { isActive, isEnded, isHeld, STATUS, statusName } from '../status.js';
import type { LiveTask } from './live-task.js';

export interface WhyDeps {
  readonly slotsOf: (orgId: string) => readonly NodeSlots[];
  readonly scheduler: Pick<Scheduler, 'fits'>;
  /** Monotonic milliseconds. */
  readonly at: number;
}

/** Why nothing of a queue is assigned though something waits, or would be; empty while it moves. */
export function whyQueue(queue: LiveQueue, deps: WhyDeps): string[] {
  const { counts } = queue;
  const { name, state, threads, plugin } = queue.queue;
  const nothing = counts.queued + counts.blocked === 0;
  if (nothing && counts.held > 0) return [`Only held tasks are left: ${counts.held}.`];
  if (state === 'paused') return [`The queue is paused: \`muster queue resume ${name}\`.`];
  if (nothing) return [];
  if (threads === 0) return [`Its threads are 0: \`muster queue set ${name} --threads N\`.`];
  if (threads !== null && queue.active.size >= threads) {
    return [`All of its ${threads} threads are busy (claimed ${counts.claimed}, running ${counts.running}).`];
  }
  const why: string[] = [];
  const rate = queue.rateWaitMs(deps.at);
  if (rate > 0) why.push(`Its rate is used up for ${seconds(rate)}.`);
  if (counts.queued === 0) why.push(`Its tasks wait for others that have not succeeded: ${counts.blocked}.`);
  else if (queue.waiting || rate > 0) why.push(...whyNoNode(queue, plugin, deps));
  else if (queue.queue.rules.key !== null && queue.waitsForKeys) {
    why.push(
      `Each of its keys that something waits for has as many tasks running as it may: ${queue.queue.rules.key.limit}.`,
    );
  } else why.push('Its tasks wait for their time (retries, `not_before`).');
  return why;
}

/** Of what waits for a node. */
function whyNoNode(queue: LiveQueue, plugin: string, deps: WhyDeps): string[] {
  const all = deps.slotsOf(queue.org.id);
  const up = all.filter(({ node }) => node.status === 'up');
  const offering = up.filter(({ offer }) => offer !== null);
  if (offering.length === 0) return [`No node that is up takes tasks (${up.length} of ${all.length} known are up).`];
  const having = offering.filter((slots) => slots.offers(plugin));
  if (having.length === 0) {
    const gone = all.filter((slots) => slots.node.status !== 'up' && slots.offers(plugin)).map(({ node }) => node.name);
    const had = gone.length === 0 ? '' : `; down: ${named(gone)}, which had it`;
    return [
      `No node that is up has the plugin '${plugin}' (${offering.length} ${offering.length === 1 ? 'takes' : 'take'} tasks${had}).`,
    ];
  }
  const fitting = having.filter((slots) => deps.scheduler.fits(slots, queue));
  if (fitting.length === 0) {
    return [
      `Nodes have the plugin, but the queue's selectors or their own \`activequeues\` and \`ignorequeues\` leave out all ${having.length}.`,
    ];
  }
  const open = fitting.filter((slots) => slots.free > 0 && slots.hasRoomFor(plugin, deps.at));
  if (open.length > 0) return [];
  const why: string[] = [];
  const broken = fitting.flatMap((slots) => {
    const waitMs = slots.brokenMs(plugin, deps.at);
    return waitMs === null ? [] : [{ name: slots.node.name, waitMs }];
  });
  for (const { name, waitMs } of broken.slice(0, MOST_NAMED)) why.push(whyBroken(name, plugin, waitMs));
  if (broken.length > MOST_NAMED) why.push(`${broken.length - MOST_NAMED} more get none of it for the same reason.`);
  const full = fitting.length - broken.length;
  if (full > 0) why.push(`${full} of ${fitting.length} nodes that may run it are full.`);
  return why;
}

/** Why a node gets no tasks of a plugin. */
export function whyBroken(name: string, plugin: string, waitMs: number): string {
  const gets =
    waitMs > 0 ? `gets no tasks of '${plugin}' for ${seconds(waitMs)}` : `is tried with one task of '${plugin}'`;
  return `${name} ${gets}: the last ones failed at once, one after the other.`;
}

/** A task that another one waits for; null: it was deleted. */
export interface Awaited {
  readonly id: string;
  readonly status: number | null;
}

/** Why a task is where it is. `others`: the first of those that it waits for. */
export function whyTask(
  row: TaskRow,
  queue: LiveQueue | undefined,
  live: LiveTask | undefined,
  others: readonly Awaited[],
  deps: WhyDeps,
): string[] {
  const state = live?.state;
  const status = state?.status ?? row.status;
  const reason = state?.reason ?? row.reason;
  const because = reason === null ? '' : `: ${reason}`;
  if (isEnded(status)) return [`It ${ENDED[statusName(status)] ?? 'ended'}${because}.`];
  if (isHeld(status))
    return [`It is held (code ${status})${because}. \`muster task release ${row.id}\` lets it go on.`];
  if (queue === undefined) return ['Its queue was deleted; it will not run. `muster task rm` deletes it.'];
  const node = state?.node ?? row.node;
  if (isActive(status) && live !== undefined && live.slots !== null && live.slots.node.status !== 'up') {
    return [`${node} has it, and is down: it goes on, or is lost, when the node is back or has been away too long.`];
  }
  if (status === STATUS.running)
    return [`${node} runs it${(state?.cancelling ?? row.cancelling === 1) ? ', and was told to end it' : ''}.`];
  if (status === STATUS.claimed) return [`${node} has it, and begins it when a slot is free.`];
  if (status === STATUS.blocked) {
    const waits = state?.waitsFor ?? row.waits_for;
    const which = others.map(
      (other) => `${other.id} (${other.status === null ? 'deleted' : statusName(other.status)})`,
    );
    const more = waits > which.length && which.length > 0 ? ` and ${waits - which.length} more` : '';
    const tasks = which.length > 0 ? `: ${which.join(', ')}${more}` : '';
    return [`It waits for ${waits === 1 ? 'a task that has' : `${waits} tasks that have`} not succeeded${tasks}.`];
  }
  const notBefore = state?.notBefore ?? row.not_before;
  if (notBefore !== null) {
    return [`It waits until ${new Date(notBefore).toISOString()}${because}.`];
  }
  if (queue.full(row.lane)) return [`As many tasks with its key '${row.lane}' run as may at one time.`];
  const queueWhy = whyQueue(queue, deps);
  return queueWhy.length > 0 ? queueWhy : [`Others of the queue are before it: ${queue.counts.queued} wait.`];
}

const ENDED: Readonly<Record<string, string>> = {
  succeeded: 'succeeded',
  failed: 'failed',
  cancelled: 'was cancelled',
  terminated: 'was cancelled, and had to be killed',
  orphaned: 'was orphaned: nobody can tell how it ended',
};

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
}
