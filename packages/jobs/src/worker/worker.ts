import type { Clock } from '@muster/base';
import {
  LIMITS as BROKER_LIMITS,
  type Broker,
  type Consumer,
  correlationEventKey,
  type Delivery,
  namesOf,
  organizationTopology,
  siteTopology,
  submissionTopology,
  workerTopicOf,
  workerTopology,
} from '@muster/broker';
import type { RandomBytes } from '@muster/platform/auth';
import type { Recorder } from '@muster/platform/log';
import type { LayerLog } from '@muster/platform/upkeep';
import type { Store } from '@muster/store';
import type { PhasePorts } from '../phases/context.js';
import type { JobStore } from '../repository/job-store.js';
import { newUuid } from '../uuid.js';
import { Interrupted } from './interrupted.js';
import { LIMITS, PACES, type Paces } from './limits.js';
import { type Command, readWorkerCommand, type WorkerCommand } from './messages.js';
import { OtherWorkers } from './others.js';
import { isStoreOrBrokerAway, patiently } from './patience.js';
import { RecoveryCalls } from './recovery-calls.js';
import { checkWorker, type WorkerSettings } from './settings.js';
import { Slots } from './slots.js';
import { holderName, Tenure } from './tenure.js';
import { Turns } from './turns.js';
import { Window } from './window.js';
import { forgetWorkers, saveWorker, type WorkerState } from './worker-rows.js';

export interface WorkerDeps {
  readonly settings: WorkerSettings;
  readonly store: Store;
  readonly recorder: Pick<Recorder, 'commit'>;
  readonly jobs: JobStore;
  readonly broker: Broker;
  readonly ports: PhasePorts;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly log: LayerLog;
  readonly paces?: Paces;
  /** It ended by itself: it was told to, or too much went wrong in too short a time. */
  readonly ended?: (why: 'told' | 'faults') => void;
}

const DAY_MS = 86_400_000;
/** Rows of workers are kept for so long after they were last heard of. */
const KEEP_MS = 30 * DAY_MS;

/**
 * Works on the jobs of one submission queue, so many at once.
 *
 * | state | takes messages | jobs in hand | what ends it |
 * |---|---|---|---|
 * | `running` | yes | are worked on | a command, a signal |
 * | `suspended` | no | are worked on | WKR_RESUME |
 * | `quiescing` | no | are worked on | the last of them is over: `stopped` |
 * | `stopped` | no | were given back | |
 */
export class JobWorker {
  readonly #deps: WorkerDeps;
  readonly #turns: Turns;
  readonly #restarts: Window;
  readonly #recovery: RecoveryCalls;
  #state: WorkerState = 'stopped';
  #tenure: Promise<Tenure> | null = null;
  #slots: Slots | null = null;
  #consumer: Consumer | null = null;
  #commands: Consumer | null = null;
  #standIns = 0;
  #started = 0;
  #stopping: Promise<void> | null = null;
  readonly #ending = new AbortController();

  /** @throws MusterError `invalid_worker` */
  constructor(deps: WorkerDeps) {
    checkWorker(deps.settings);
    this.#deps = deps;
    const { clock, log, random, paces = PACES, broker, store } = deps;
    const chance = (): number => Buffer.from(random(4)).readUInt32BE() / 2 ** 32;
    this.#turns = new Turns({ clock, paces, chance, log });
    this.#restarts = new Window(paces.restarts, clock);
    this.#recovery = new RecoveryCalls({ broker, store, log, sender: deps.settings.name });
  }

  get state(): WorkerState {
    return this.#state;
  }

  /** How many jobs it works on. */
  get running(): number {
    return this.#slots?.running ?? 0;
  }

  /** @throws MusterError `broker_unavailable`, `store_unavailable` */
  async start(): Promise<void> {
    const { broker, settings, store, clock, log } = this.#deps;
    const { organization, name, queue, slots } = settings;
    this.#started = clock.now();
    await broker.declare(siteTopology());
    await broker.declare(organizationTopology(organization.name));
    await broker.declare(submissionTopology(organization.name, queue));
    await forgetWorkers(store, clock.now() - KEEP_MS);
    this.#state = 'running';
    const tenure = await this.#newTenure();
    this.#slots = this.#makeSlots(tenure.worker);
    log.debug({ worker: tenure.worker, name, queue, slots }, 'worker started');
    // Commands first: what is taken can be asked about.
    this.#commands = broker.consume(workerTopicOf(organization.name, name), { slots: 1 }, (delivery) =>
      this.#command(delivery),
    );
    const most = Math.min(slots + LIMITS.standIns, BROKER_LIMITS.slots);
    this.#consumer = broker.consume(queue, { slots: most, held: true }, (delivery) => this.#handle(delivery));
    this.#applySlots();
  }

  /** Gives back at once what it has: whoever gets it need not wait. Once, however often it is called. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  /** Takes nothing more, and ends when what it has is over. */
  async quiesce(): Promise<void> {
    if (this.#state !== 'running' && this.#state !== 'suspended') return;
    await this.#enter('quiescing');
    await this.#slots?.idle();
    await this.#endItself('told');
  }

  /** Takes nothing more until it is resumed. */
  async suspend(): Promise<void> {
    if (this.#state === 'running') await this.#enter('suspended');
  }

  async resume(): Promise<void> {
    if (this.#state === 'suspended') await this.#enter('running');
  }

  async #stop(): Promise<void> {
    const { clock, log } = this.#deps;
    if (this.#state === 'stopped' && this.#tenure === null) return;
    this.#state = 'stopped';
    this.#ending.abort(new Interrupted('stopping'));
    this.#applySlots();
    await within(clock, LIMITS.lettingGoMs, this.#slots?.stop() ?? Promise.resolve());
    // Nothing is done any more. First the lease, then the messages: who gets one finds that nobody has its job.
    const tenure = await this.#tenure?.catch(() => null);
    await tenure?.end();
    await Promise.all([this.#consumer?.stop(), this.#commands?.stop()]);
    if (tenure)
      await this.#save(tenure.worker).catch((err: unknown) =>
        log.warn({ err }, 'the end of the worker could not be stored'),
      );
    log.debug({ worker: tenure?.worker }, 'worker stopped');
  }

  async #endItself(why: 'told' | 'faults'): Promise<void> {
    await this.stop();
    this.#deps.ended?.(why);
  }

  async #enter(state: WorkerState): Promise<void> {
    this.#state = state;
    this.#applySlots();
    const tenure = await this.#tenure;
    if (tenure !== null) await this.#save(tenure.worker);
  }

  /** Deliveries that stand in for jobs of others come on top. */
  #applySlots(): void {
    const { slots } = this.#deps.settings;
    const most = Math.min(slots + LIMITS.standIns, BROKER_LIMITS.slots);
    this.#consumer?.setSlots(this.#state === 'running' ? Math.min(slots + this.#standIns, most) : 0);
  }

  async #handle(delivery: Delivery): Promise<void> {
    try {
      await this.#slots?.handle(delivery);
    } catch (error) {
      const { log } = this.#deps;
      log.error({ err: error, id: delivery.id }, 'ALOE_THREAD_UNCAUGHT_EXCEPTION a message could not be worked on');
      if (this.#restarts.take()) {
        log.warn({ restarts: this.#restarts.count() }, 'ALOE_THREAD_RESTART');
      } else {
        log.error({ restarts: this.#restarts.count() }, 'ALOE_TOO_MANY_RESTARTS_TERMINATION');
        void this.#endItself('faults');
      }
      await delivery.reject();
    }
  }

  #makeSlots(worker: string): Slots {
    const { settings, broker, jobs, ports, clock, log, store } = this.#deps;
    return new Slots({
      organization: settings.organization,
      broker,
      jobs,
      ports,
      clock,
      log,
      recovery: this.#recovery,
      turns: this.#turns,
      others: new OtherWorkers({ store, clock, holder: holderName(worker, broker.holder) }),
      tenure: () => this.#tenure ?? Promise.reject(new Error('the worker was not started')),
      standIns: (count) => {
        this.#standIns = count;
        this.#applySlots();
      },
    });
  }

  /** Under a new name: what was done under the last one is over. */
  #newTenure(): Promise<Tenure> {
    this.#tenure = this.#begin(newUuid(this.#deps.random, '065'));
    return this.#tenure;
  }

  async #begin(worker: string): Promise<Tenure> {
    const { settings, broker, store, clock, log } = this.#deps;
    await broker.declare(workerTopology(settings.organization.name, settings.name, worker));
    const tenure = await Tenure.begin(worker, {
      store,
      clock,
      log,
      process: broker.holder,
      unsure: () => this.#slots?.doubt(),
      lost: () => void this.#lost(),
    });
    try {
      await this.#save(worker);
    } catch (error) {
      await tenure.end();
      throw error;
    }
    return tenure;
  }

  async #lost(): Promise<void> {
    const { clock, log, random } = this.#deps;
    this.#slots?.doubt();
    if (this.#stopping !== null) return;
    const { signal } = this.#ending;
    // What cost it its lease may last, or something else be away meanwhile.
    const next = newUuid(random, '065');
    this.#tenure = patiently(clock, signal, () => this.#begin(next), isStoreOrBrokerAway);
    try {
      const { worker } = await this.#tenure;
      log.info({ worker }, 'the worker goes on under a new name');
    } catch (err) {
      if (signal.aborted) return;
      log.error({ err }, 'the worker could not go on under a new name: it ends');
      await this.#endItself('faults');
    }
  }

  #save(uuid: string): Promise<void> {
    const { settings, recorder } = this.#deps;
    const { organization, name, host, queue, slots, version } = settings;
    return saveWorker(recorder, organization.name, {
      uuid,
      org_id: organization.id,
      name,
      host,
      queue,
      slots,
      state: this.#state,
      started: this.#started,
      version,
    });
  }

  async #command(delivery: Delivery): Promise<void> {
    const { log } = this.#deps;
    const read = readWorkerCommand(delivery.body);
    if ('problem' in read) {
      log.warn({ problem: read.problem }, 'JOBS_CMD_MSG_ERROR');
      await delivery.reject();
      return;
    }
    // Before it is done: a worker that ends is not told to end again when it is back.
    await delivery.ack();
    const { message } = read;
    const { worker } = await (this.#tenure ?? this.#newTenure());
    if (message.workerUuid !== null && message.workerUuid !== worker) {
      log.info({ ...message, worker }, 'JOBS_WORKER_IGNORE_CMD another worker is meant');
      return;
    }
    log.info({ ...message }, 'JOBS_WORKER_CMD_RECEIVED');
    await this.#do(message, worker);
  }

  async #do(message: Command<WorkerCommand>, worker: string): Promise<void> {
    switch (message.msgType) {
      case 'WKR_STATUS':
        return this.#answer(message, worker);
      case 'WKR_SHUTDOWN':
        void this.#endItself('told');
        return;
      case 'WKR_SHUTDOWN_QUIESCE':
        void this.quiesce();
        return;
      case 'WKR_SUSPEND':
        return this.suspend();
      case 'WKR_RESUME':
        return this.resume();
    }
  }

  /** To whoever listens for answers to this question (sheet §5.5). */
  async #answer({ correlationId }: Command<WorkerCommand>, worker: string): Promise<void> {
    const { broker, log, settings, paces = PACES } = this.#deps;
    const { organization, ...workerParms } = settings;
    const body = JSON.stringify({
      msgType: 'WKR_STATUS_RESP',
      correlationId,
      senderId: settings.name,
      workerParms,
      workerUuid: worker,
      tenantId: organization.name,
      state: this.#state,
      jobsRunning: this.running,
      standIns: this.#standIns,
      throttleWindowSeconds: paces.restarts.windowMs / 1000,
      throttleLimit: paces.restarts.limit,
      throttleQueueLength: this.#restarts.count(),
      shuttingDown: this.#stopping !== null || this.#state === 'quiescing',
    });
    try {
      await broker.publish({
        exchange: namesOf(organization.name).eventExchange,
        key: correlationEventKey(correlationId),
        body,
      });
    } catch (err) {
      log.warn({ err }, 'a question about the worker could not be answered');
    }
  }
}

/** Waits for it, but no longer than that. */
async function within(clock: Pick<Clock, 'after'>, ms: number, work: Promise<unknown>): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = clock.after(ms, resolve);
    const done = (): void => {
      timer.cancel();
      resolve();
    };
    work.then(done, done);
  });
}
