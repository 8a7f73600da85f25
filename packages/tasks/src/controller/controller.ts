import { type Clock, every, MOST_NAMED, type Timer, Waker } from '@muster/base';
import type { NodeRegistry, NodeView } from '@muster/nodes';
import { type Organization, organizationsById, type RandomBytes } from '@muster/platform/auth';
import type { ServerConfig } from '@muster/platform/config';
import type { Recorder } from '@muster/platform/log';
import { type OutputFollowers, OutputKeeper } from '@muster/platform/output';
import type { LayerLog } from '@muster/platform/upkeep';
import type { Store } from '@muster/store';
import type { NodeSlots } from '../assign/node-slots.js';
import { MusterError } from '../errors.js';
import { Ids } from '../ids.js';
import { isReady } from '../machine.js';
import type {
  Acted,
  ActedBy,
  Added,
  By,
  NewQueue,
  NewTask,
  QueueChanges,
  QueueView,
  TaskAction,
  TaskController,
} from '../ports.js';
import type { ReadyTask } from '../queues/lane.js';
import { LiveQueue } from '../queues/live-queue.js';
import { QueueRegistry } from '../queues/registry.js';
import { queueOf } from '../queues/stored.js';
import {
  activeTasks,
  countTasks,
  greatestId,
  nextTime,
  readyLanes,
  readyTask,
  standingRows,
  unsucceededBefore,
} from '../repository/ready.js';
import type { QueueRow, TaskRow } from '../repository/writes.js';
import type { TaskSecrets } from '../secrets/use.js';
import { STATUS, type StatusName } from '../status.js';
import { Acts } from './acts.js';
import { Adding } from './adding.js';
import { Administration } from './administration.js';
import { Book } from './book.js';
import { LiveTask } from './live-task.js';
import { TaskNodes } from './nodes.js';
import { ProgressNews } from './progress.js';
import { Rebalance } from './rebalance.js';
import { outputOf, Reports } from './reports.js';
import { type WhyDeps, whyQueue, whyTask } from './why.js';

export interface TaskControllerDeps {
  readonly store: Store;
  readonly recorder: Recorder;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly logger: LayerLog;
  readonly nodes: NodeRegistry;
  readonly config: Pick<ServerConfig, 'tasks'>;
  readonly secrets: TaskSecrets;
  /** Tasks ended, for whoever watches the server. */
  readonly ended: (status: StatusName) => void;
}

/** The controller with its life cycle. */
export interface TaskControllerService extends TaskController {
  load(): Promise<void>;
  start(): void;
  stop(): Promise<void>;
  /** Told after output of a task was stored, and after it ended. */
  readonly outputFollowers: Pick<OutputFollowers, 'follow'>;
  slotsOf(node: NodeView): NodeSlots;
  /** An organization was deleted: nothing of it is assigned any more. */
  forget(orgId: string): void;
  /** All queues, for metrics. */
  allQueues(): Iterable<LiveQueue>;
  /** Of tasks that have ended: see `TaskRetention`. */
  beginDeleting(ids: readonly string[]): readonly string[];
  undoDeleting(ids: readonly string[]): void;
}

/** Between two looks for tasks that wait on a busy node while another is idle. */
const REBALANCE_MS = 2000;
/** Until a look at the store that failed is repeated. */
const RETRY_MS = 1000;

export function createTaskController(deps: TaskControllerDeps): TaskControllerService {
  const { store, recorder, clock, logger, nodes, config } = deps;
  const queues = new QueueRegistry();
  const outputLimit = config.tasks.output_limit;
  let ids: Ids | null = null;
  const idsNow = (): Ids => {
    if (ids === null) throw new Error('not loaded');
    return ids;
  };
  const outputs = new OutputKeeper({
    store,
    clock,
    limitOf: ({ subject }) => book.get(subject.slice('task/'.length))?.queue.queue.rules.outputLimit ?? outputLimit,
    failed: (error) => logger.error({ err: error }, 'output of a task could not be stored'),
  });
  const book: Book = new Book({
    store,
    recorder,
    clock,
    logger,
    nodes,
    recount: (ended) => later('tasks that wait for others', () => acts.recountAfter(ended)),
    due: (at) => waker.by(at),
    left: (tasks) => {
      for (const task of tasks) {
        if (task.state.attempt === 0) continue;
        outputs.followers.tell(outputOf(task.ref));
        outputs.forget(outputOf(task.ref).subject);
      }
    },
    ended: (status) => deps.ended(status),
  });
  const acts = new Acts({ store, recorder, book, queues });
  const waker = new Waker(clock, () => later('tasks whose time has come', timePassed));
  const progress = new ProgressNews();
  const reports = new Reports({
    book,
    nodes,
    outputs,
    logger,
    progress,
    broken: (slots, plugin) => {
      logger.warn(
        { node: slots.node.name, plugin },
        'tasks of a plugin fail at once on a node: it gets none for a while',
      );
      clock.after(slots.brokenMs(plugin, clock.monotonic()) ?? 0, () => {
        book.scheduler.roomAt(slots);
        book.look();
      });
    },
  });
  const taskNodes = new TaskNodes({ store, clock, logger, nodes, ids: idsNow, book, reports });
  const administration = new Administration({
    recorder,
    clock,
    ids: idsNow,
    queues,
    book,
    outputLimit,
    secrets: deps.secrets,
  });
  const adding = new Adding({
    store,
    recorder,
    clock,
    ids: idsNow,
    maxParams: config.tasks.max_params,
    secrets: deps.secrets,
    arriving: (arriving, stored) => book.arriving(arriving, stored),
    offer,
    due: (at) => waker.by(at),
    recount: (added) => later('new tasks that wait for others', () => acts.recount(added)),
  });
  const rebalance = new Rebalance({ book, nodes: taskNodes, clock });
  let timer: Timer | null = null;
  nodes.listen(taskNodes);

  /** Work that nobody waits for: what it could not do it does again. */
  function later(what: string, work: () => Promise<void>): void {
    work().catch((error: unknown) => {
      if (book.stopped) return;
      logger.warn({ err: error }, `${what}: not done, tried again`);
      clock.after(RETRY_MS, () => {
        if (!book.stopped) later(what, work);
      });
    });
  }

  async function timePassed(): Promise<void> {
    const next = await acts.timePassed(clock.now());
    if (next !== null) waker.by(next);
  }

  function offer(queue: LiveQueue, tasks: readonly ReadyTask[]): void {
    for (const task of tasks) book.offer(queue, task);
    book.look();
  }

  function liveQueue(org: Organization, row: QueueRow, known = false): LiveQueue {
    return new LiveQueue(org, queueOf(row, outputLimit), clock.monotonic(), known);
  }

  async function load(): Promise<void> {
    const { read } = store;
    ids = new Ids(clock, deps.random, await greatestId(read));
    const organizations = await organizationsById(read);
    for (const row of await read.selectFrom('task_queues').selectAll().execute()) {
      const org = organizations.get(row.org_id);
      if (org !== undefined) queues.add(liveQueue(org, row, true));
    }
    for (const { queueId, status, tasks } of await countTasks(read)) queues.get(queueId)?.moved(null, status, tasks);
    await taskNodes.load();
    await loadActive(organizations);
    for (const live of queues.all()) await loadLanes(live);
  }

  async function loadActive(organizations: ReadonlyMap<string, Organization>): Promise<void> {
    for (const row of await activeTasks(store.read)) {
      const queue = queues.get(row.queue_id) ?? (await orphanedQueue(row.queue_id, organizations));
      if (queue === undefined) continue;
      const task = new LiveTask(queue, readyTask(row), row.mtime);
      task.sent = true;
      book.restore(task);
      const node = row.node === null ? undefined : nodes.get(queue.org.id, row.node);
      if (node !== undefined) task.giveTo(taskNodes.slots(node), row.incarnation);
      await outputs.load(outputOf(task.ref).subject);
    }
  }

  /** Of a queue that was deleted while nodes had tasks of it. */
  async function orphanedQueue(
    queueId: string,
    organizations: ReadonlyMap<string, Organization>,
  ): Promise<LiveQueue | undefined> {
    const row = await store.read
      .selectFrom('tasks')
      .select('org_id')
      .where('queue_id', '=', queueId)
      .executeTakeFirst();
    const org = row && organizations.get(row.org_id);
    if (org === undefined) return undefined;
    const gone = {
      id: queueId,
      org_id: org.id,
      name: queueId,
      plugin: '-',
      threads: 0,
      state: 'paused' as const,
      rules: '{}',
    };
    const live = liveQueue(org, { ...gone, created_at: 0, updated_at: 0 });
    live.removed = true;
    return live;
  }

  async function loadLanes(live: LiveQueue): Promise<void> {
    if (live.counts.queued === 0) return;
    const names =
      live.queue.rules.key === null ? [''] : (await readyLanes(store.read, live.id)).map(({ lane }) => lane);
    for (const name of names) await book.fill(live, live.lane(name, false));
  }

  async function takeUp(
    org: Organization,
    stored: { readonly queues: readonly QueueRow[]; readonly tasks: readonly string[] },
  ): Promise<void> {
    for (const row of stored.queues) queues.add(liveQueue(org, row));
    if (stored.tasks.length === 0) return;
    const ready = new Map<LiveQueue, ReadyTask[]>();
    for (const row of await standingRows(store.read, org.id, stored.tasks)) {
      const live = queues.get(row.queue_id);
      if (live === undefined) continue;
      live.moved(null, row.status);
      const task = readyTask(row);
      if (!isReady(task.state)) continue;
      const offered = ready.get(live) ?? [];
      offered.push(task);
      ready.set(live, offered);
    }
    for (const [live, tasks] of ready) offer(live, tasks);
  }

  function start(): void {
    // Before the first node is heard: what no node can have any more, and what waits for what is over.
    void book.turn((turn) => {
      for (const task of book.tasks()) {
        if (task.slots === null) reports.lose(turn, task, `the node ${task.state.node} does not exist any more`);
      }
    });
    for (const live of queues.all()) later('tasks that wait for others', () => acts.recountAll(live));
    later('tasks whose time has come', async () => {
      const next = await nextTime(store.read);
      if (next !== null) waker.by(next);
    });
    timer = every(clock, REBALANCE_MS, () => rebalance.round());
  }

  async function stop(): Promise<void> {
    timer?.cancel();
    waker.stop();
    taskNodes.stop();
    await book.stop();
    await outputs.settled();
  }

  const whyDeps = (): WhyDeps => ({
    slotsOf: (orgId) => taskNodes.of(orgId),
    scheduler: book.scheduler,
    at: clock.monotonic(),
  });

  function view(live: LiveQueue): QueueView {
    return {
      ...live.queue,
      counts: { ...live.counts },
      endedLastMinute: live.endedLastMinute(clock.monotonic()),
      why: whyQueue(live, whyDeps()),
    };
  }

  function queueNamed(org: Organization, id: string): LiveQueue {
    const live = queues.find(org.id, id);
    if (live === undefined) throw new MusterError('not_found', { kind: 'queue', name: id });
    return live;
  }

  return {
    load,
    start,
    stop,
    outputFollowers: outputs.followers,
    slotsOf: (node) => taskNodes.slots(node),
    forget(orgId) {
      for (const live of queues.of(orgId)) {
        book.scheduler.forgetQueue(live);
        queues.remove(live);
      }
    },
    allQueues: () => queues.all(),
    beginDeleting: (ended) => book.beginDeleting(ended),
    undoDeleting: (ended) => book.undoDeleting(ended),
    queues: (orgId) => queues.of(orgId).map(view),
    queue(orgId, idOrName) {
      const live = queues.find(orgId, idOrName);
      return live && view(live);
    },
    createQueue: async (org: Organization, queue: NewQueue, by: By) =>
      view(await administration.create(org, queue, by)),
    async changeQueue(org: Organization, id: string, changes: QueueChanges, by: By) {
      const changed = await administration.change(org, id, changes, by);
      return { changed, queue: view(queueNamed(org, id)) };
    },
    removeQueue: (org, id, how, by) => administration.remove(org, id, how, by),
    async add(org: Organization, queueId: string, tasks: readonly NewTask[], by: By, along): Promise<readonly Added[]> {
      return adding.add(org, queueNamed(org, queueId), tasks, by, along);
    },
    act(org: Organization, acted: readonly string[], action: TaskAction, how: ActedBy): Promise<readonly Acted[]> {
      return acts.act(org, acted, action, how);
    },
    async why(row: TaskRow): Promise<readonly string[]> {
      const others = row.status === STATUS.blocked ? await unsucceededBefore(store.read, row.id, MOST_NAMED) : [];
      return whyTask(row, queues.get(row.queue_id), book.get(row.id), others, whyDeps());
    },
    takeUp,
    progress: (id) => book.get(id)?.progress ?? null,
    followProgress: (id) => progress.follow(id),
    nodes: (orgId) => taskNodes.views(orgId),
    setNode: (org, node, settings, by) => taskNodes.set(org, node, settings, by),
    plugins(orgId) {
      const offered = taskNodes.of(orgId).flatMap(({ offer: one }) => one?.plugins.map(({ name }) => name) ?? []);
      return [...new Set([...config.tasks.plugins, ...offered])].sort();
    },
  };
}
