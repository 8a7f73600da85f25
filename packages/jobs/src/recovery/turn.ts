import { type Clock, type Timer, Waker } from '@muster/base';
import { type Broker, type Consumer, type Delivery, namesOf, organizationTopology, siteTopology } from '@muster/broker';
import type { Organization } from '@muster/platform/auth';
import type { Recorder } from '@muster/platform/log';
import type { LayerLog, Turn } from '@muster/platform/upkeep';
import type { Store } from '@muster/store';
import { RECOVERY_EVENTS } from '../event-types.js';
import { makeStand } from '../standing.js';
import type { RecoveryActs } from './acts.js';
import { AtOnce } from './at-once.js';
import { parametersOf } from './grouping.js';
import { RECOVERY_HINT, WANTED_HINT } from './hint.js';
import type { Answer, Decide, RecoveryEffect, RecoveryEvent, RecoveryState, RecoveryStep } from './machine.js';
import { ALL, newRecovery, stepRecovery } from './machine.js';
import { type RecoveryMessage, readMessage } from './messages.js';
import { POLICIES } from './policies/index.js';
import type { Releases } from './releases.js';
import { type BlockedRow, type RecordRow, type RecoveryRows, saveRecord } from './repository.js';
import type { Tested } from './testers/index.js';

export interface RecoveryTurnDeps {
  readonly org: Organization;
  readonly store: Store;
  readonly recorder: Pick<Recorder, 'commit' | 'transact'>;
  readonly broker: Broker;
  readonly clock: Clock;
  readonly log: LayerLog;
  readonly rows: RecoveryRows;
  readonly acts: RecoveryActs;
  readonly releases: Releases;
  /** Asks the tester of this type. */
  readonly ask: (type: string, tested: Tested) => Promise<Answer>;
  /** RECOVER_SHUTDOWN. */
  readonly shutdown: () => void;
}

/** Jobs that are changed at the same time: they share commits. */
const BATCH = 100;
const TESTS_AT_ONCE = 16;
const KILLS_AT_ONCE = 16;
/** A tester that has not answered by then has not been passed. */
const TEST_MS = 60_000;
const SLOTS = 32;
const AGAIN_MS = 2000;

interface Live {
  readonly row: RecordRow;
  state: RecoveryState;
}

/** The reader of one organization, for as long as its lease lasts: the only one who changes its BLOCKED and PAUSED jobs. */
export class RecoveryTurn implements Turn {
  readonly #deps: RecoveryTurnDeps;
  readonly #records = new Map<string, Live>();
  /** Being read: once at a time. */
  readonly #reading = new Map<string, Promise<void>>();
  readonly #acting = new Set<Promise<void>>();
  readonly #tests = new AtOnce(TESTS_AT_ONCE);
  readonly #kills = new AtOnce(KILLS_AT_ONCE);
  readonly #waker: Waker;
  #consumer: Consumer | null = null;
  #deaf: (() => void) | null = null;
  #deafToWanted: (() => void) | null = null;
  #again: Timer | null = null;
  #newer = false;
  #looking = false;
  #stopped = false;

  constructor(deps: RecoveryTurnDeps) {
    this.#deps = deps;
    this.#waker = new Waker(deps.clock, () => this.#due());
  }

  /** What is stored first, then what comes. @throws when the database is away */
  async start(): Promise<void> {
    const { broker, org, store } = this.#deps;
    await this.#load();
    await makeStand(broker, siteTopology(), organizationTopology(org.name));
    this.#consumer = broker.consume(namesOf(org.name).recoveryQueue, { slots: SLOTS }, (delivery) =>
      this.#heard(delivery),
    );
    let first = true;
    this.#deaf = store.hints.listen(RECOVERY_HINT, (orgId) => {
      // The first is what `#load` has done.
      const missed = orgId === null && !first;
      first = false;
      if (missed) this.#act(this.#load());
      else if (orgId === org.id) this.#takeUpNew();
    });
    // What is missed is found by `#load`.
    this.#deafToWanted = store.hints.listen(WANTED_HINT, (orgId) => {
      if (orgId === org.id) this.#act(this.#obey());
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#deaf?.();
    this.#deafToWanted?.();
    this.#waker.stop();
    this.#again?.cancel();
    await Promise.all([this.#consumer?.stop(), this.#deps.releases.stop()]);
    await Promise.all([...this.#acting]);
  }

  // --- what is stored

  async #load(): Promise<void> {
    const { rows, acts, releases } = this.#deps;
    await rows.dropStale();
    releases.hurry();
    await this.#obey();
    for (const uuid of await rows.lost()) await acts.releaseLost(uuid);
    for (const row of await rows.records()) await this.#takeUp(row);
    for (const id of await rows.deserted()) this.#step(id, { type: 'left', left: 0 });
    releases.hurry();
  }

  /** What is asked of jobs that no worker has. */
  async #obey(): Promise<void> {
    const { rows, acts, releases } = this.#deps;
    for (const uuid of await rows.wanted()) await this.#leaving(uuid, () => acts.wanted(uuid));
    releases.hurry();
  }

  /** Many jobs may be blocked at once. */
  #takeUpNew(): void {
    this.#newer = true;
    if (this.#looking) return;
    this.#looking = true;
    this.#act(
      this.#takeUpWhileNew().finally(() => {
        this.#looking = false;
      }),
    );
  }

  async #takeUpWhileNew(): Promise<void> {
    while (this.#newer && !this.#stopped) {
      this.#newer = false;
      const { rows } = this.#deps;
      for (const row of await rows.newRecords()) await this.#takeUp(row);
      for (const id of await rows.deserted()) this.#step(id, { type: 'left', left: 0 });
    }
  }

  /** The record of this id, if there is one that is not known. */
  #read(id: string): Promise<void> {
    const reading = this.#reading.get(id);
    if (reading !== undefined) return reading;
    const read = this.#readNow(id).finally(() => this.#reading.delete(id));
    this.#reading.set(id, read);
    return read;
  }

  async #readNow(id: string): Promise<void> {
    const row = this.#records.has(id) ? undefined : await this.#deps.rows.record(id);
    if (row !== undefined) await this.#takeUp(row);
  }

  async #takeUp(row: RecordRow): Promise<void> {
    const { rows, clock, log } = this.#deps;
    if (this.#records.has(row.id)) return;
    const since = await rows.since(row.id);
    // Two who looked at the same time.
    if (this.#records.has(row.id)) return;
    const mistakes = POLICIES.get(row.policy)?.mistakes(parametersOf(row.policy_parameters)) ?? [];
    if (mistakes.length > 0) log.warn({ record: row.id, mistakes }, 'JOB_RECOVERY_BAD_POLICY_PARM the defaults hold');
    if (row.next_attempt === 0) {
      const step = newRecovery(since ?? clock.now(), decider(row), clock.now());
      const live: Live = { row, state: step.state };
      this.#records.set(row.id, live);
      this.#take(live, step);
    } else {
      const { attempts, created, next_attempt: nextAttempt, last_answer: lastAnswer } = row;
      this.#records.set(row.id, { row, state: { place: 'waiting', attempts, created, nextAttempt, lastAnswer } });
      this.#waker.by(nextAttempt);
    }
    if (since === null) this.#step(row.id, { type: 'left', left: 0 });
  }

  // --- what is heard

  async #heard(delivery: Delivery): Promise<void> {
    const message = readMessage(delivery.body);
    if (typeof message === 'string') {
      const { log, org } = this.#deps;
      log.error(
        { organization: org.name, why: message },
        'JOBS_WORKER_INVALD_MSG_TYPE a message for recovery is refused',
      );
      await delivery.reject();
      return;
    }
    try {
      await this.#do(message);
    } catch (error) {
      if (this.#stopped) return;
      // The database is away, or another process has the lease: it comes again, here or there.
      this.#deps.log.warn({ err: error, message }, 'a message for recovery could not be acted on; it comes again');
      this.#deps.clock.after(AGAIN_MS, () => void delivery.requeue().catch(() => undefined));
      return;
    }
    await delivery.ack();
    if (message.type === 'RECOVER_SHUTDOWN') this.#deps.shutdown();
  }

  async #do(message: RecoveryMessage): Promise<void> {
    const { acts, rows, releases, log } = this.#deps;
    switch (message.type) {
      case 'RECOVER': {
        const row = await rows.of(message.job);
        if (row === undefined) log.debug({ job: message.job }, 'JOBS_RECOVERY_NOT_BLOCKED it waits for nothing');
        else if (row.recovery_id !== '') await this.#read(row.recovery_id);
        return;
      }
      case 'CANCEL_RECOVER':
        return this.#leaving(message.job, () => acts.stop(message.job, message.by, message.says));
      case 'PAUSE_RECOVER':
        return this.#leaving(message.job, () => acts.pause(message.job, message.by, message.says));
      case 'RESUME_JOB':
        if (await acts.resume(message.job, message.by, message.says)) releases.hurry();
        return;
      case 'TEST_NOW':
        return this.#step(message.record, { type: 'test-now' });
      case 'GIVE_UP':
        return this.#step(message.record, { type: 'give-up', by: message.by });
      case 'RECOVER_SHUTDOWN':
        return;
    }
  }

  /** Every cancel is also sent here: most are of jobs that somebody else has. */
  async #leaving(uuid: string, act: () => Promise<boolean>): Promise<void> {
    const { rows, log } = this.#deps;
    const row = await rows.of(uuid);
    if (!(await act())) log.debug({ job: uuid }, 'JOBS_RECOVERY_JOB_NOT_FOUND it is neither BLOCKED nor PAUSED');
    else if (row !== undefined && this.#records.has(row.recovery_id)) {
      this.#step(row.recovery_id, { type: 'left', left: await rows.waiting(row.recovery_id) });
    }
  }

  /** A job joined the record of this id, and may have left it. */
  joined(id: string): void {
    const look = async (): Promise<void> => {
      await this.#read(id);
      this.#step(id, { type: 'left', left: await this.#deps.rows.waiting(id) });
    };
    this.#act(look());
  }

  // --- time

  #due(): void {
    const now = this.#deps.clock.now();
    for (const [id, { state }] of [...this.#records]) {
      if (state.place !== 'waiting') continue;
      if (state.nextAttempt <= now) this.#step(id, { type: 'due' });
      else this.#waker.by(state.nextAttempt);
    }
  }

  // --- the machine

  #step(id: string, event: RecoveryEvent): void {
    const live = this.#records.get(id);
    if (live === undefined || this.#stopped) return;
    this.#take(live, stepRecovery(live.state, event, decider(live.row), this.#deps.clock.now()));
  }

  #take(live: Live, { state, effects }: RecoveryStep): void {
    live.state = state;
    for (const effect of effects) this.#effect(live, effect);
  }

  #effect(live: Live, effect: RecoveryEffect): void {
    const { log } = this.#deps;
    const { row } = live;
    switch (effect.type) {
      case 'store':
        // What is not stored is tested again sooner, or has one test more.
        this.#store(live).catch((error: unknown) => {
          log.warn({ err: error, record: row.id }, 'JOBS_RECOVERY_INGORE_UPDATE_ERROR');
        });
        return;
      case 'wake':
        if (!this.#stopped) this.#waker.by(effect.at);
        return;
      case 'test':
        return this.#run(live, () => this.#tests.run(() => this.#test(live)));
      case 'release':
        return this.#run(live, () => this.#release(live, effect.most));
      case 'fail':
        return this.#run(live, () => this.#fail(live, effect.condition, effect.reason));
      case 'delete':
        return this.#run(live, () => this.#delete(live));
    }
  }

  #store({ row, state }: Live): Promise<void> {
    const { recorder, org } = this.#deps;
    const { attempts, lastAnswer: answer } = state;
    const about = { recovery: row.id, condition: row.condition, attempts };
    const told = RECOVERY_EVENTS.tell('job_recovery.changed', org, about, { answer });
    return recorder.commit([saveRecord(row.id, state)], [told]);
  }

  /** What an effect begins ends with an event, also when it cannot be done. */
  #run({ row }: Live, work: () => Promise<void>): void {
    const act = work().catch((error: unknown) => {
      if (this.#stopped) return;
      this.#deps.log.warn({ err: error, record: row.id }, 'recovery was interrupted; trying again');
      this.#step(row.id, { type: 'interrupted' });
    });
    this.#act(act);
  }

  #act(work: Promise<void>): void {
    const act = work
      .catch((error: unknown) => {
        if (this.#stopped) return;
        this.#deps.log.warn({ err: error }, 'recovery was interrupted: it looks again at all that is stored');
        this.#loadLater();
      })
      .finally(() => this.#acting.delete(act));
    this.#acting.add(act);
  }

  #loadLater(): void {
    this.#again ??= this.#deps.clock.after(AGAIN_MS, () => {
      this.#again = null;
      this.#act(this.#load());
    });
  }

  async #test({ row }: Live): Promise<void> {
    const { log, org } = this.#deps;
    if (this.#stopped) return;
    const answer = await this.#answer(row);
    log.info(
      { organization: org.name, record: row.id, condition: row.condition, answer: answer.says },
      `a test: ${answer.kind}`,
    );
    this.#step(row.id, { type: 'answered', answer });
  }

  async #answer({ tester, tester_parameters: parameters }: RecordRow): Promise<Answer> {
    const { ask, org, clock } = this.#deps;
    let timer: ReturnType<Clock['after']> | undefined;
    const silence = new Promise<Answer>((resolve) => {
      const says = `no answer within ${TEST_MS / 1000} seconds`;
      timer = clock.after(TEST_MS, () => resolve({ kind: 'blocked', says }));
    });
    try {
      return await Promise.race([ask(tester, { orgId: org.id, parameters: parametersOf(parameters) }), silence]);
    } catch (error) {
      return { kind: 'blocked', says: error instanceof Error ? error.message : String(error) };
    } finally {
      timer?.cancel();
    }
  }

  async #release(live: Live, most: number): Promise<void> {
    const { acts, clock, rows } = this.#deps;
    await this.#each(live, clock.now(), most, async (row) => {
      if (row.state === 'killing') return this.#kills.run(() => this.#killed(row.uuid));
      if (!(await acts.release(row))) await rows.dropRow(row);
      return true;
    });
  }

  async #fail(live: Live, condition: string, reason: string): Promise<void> {
    const { acts, clock, log, rows } = this.#deps;
    const { id, condition: why, policy, tester } = live.row;
    const jobs = await rows.waiting(id);
    log.warn(
      { record: id, condition: why, policy, tester, attempts: live.state.attempts, reason, jobs },
      'JOBS_RECOVERY_EXPIRED',
    );
    await this.#each(live, clock.now(), ALL, async (row) => {
      if (row.state === 'killing') await acts.unconfirmed(row.uuid, reason);
      else if (!(await acts.fail(row.uuid, condition, reason))) await rows.dropRow(row);
      return true;
    });
  }

  async #killed(uuid: string): Promise<boolean> {
    try {
      return await this.#deps.acts.kill(uuid);
    } catch (error) {
      this.#deps.log.debug({ err: error, job: uuid }, 'what runs remotely of a job that ended cannot be ended now');
      return false;
    }
  }

  /** One batch after the other, each row once. */
  async #each(
    { row: { id } }: Live,
    until: number,
    most: number,
    act: (row: BlockedRow) => Promise<boolean>,
  ): Promise<void> {
    const { rows, releases } = this.#deps;
    let progress = false;
    let after: BlockedRow | null = null;
    for (let left = most; left > 0 && !this.#stopped; ) {
      const batch: readonly BlockedRow[] = await rows.batch(id, until, after, Math.min(BATCH, left));
      if (batch.length === 0) break;
      const done = await Promise.all(batch.map(act));
      progress ||= done.includes(true);
      left -= batch.length;
      after = batch.at(-1) ?? null;
      releases.hurry();
    }
    this.#step(id, { type: 'done', left: await rows.waiting(id), progress });
  }

  async #delete(live: Live): Promise<void> {
    const { rows, recorder, org } = this.#deps;
    const { id, condition } = live.row;
    const told = RECOVERY_EVENTS.tell('job_recovery.removed', org, { recovery: id, condition }, {});
    if (!(await rows.deleteRecord(recorder, id, told))) return this.#step(id, { type: 'joined' });
    this.#records.delete(id);
    // Somebody may have joined, and so made it anew, before it was forgotten here.
    await this.#read(id);
  }
}

function decider({ policy, policy_parameters: parameters }: RecordRow): Decide {
  const known = POLICIES.get(policy);
  const read = parametersOf(parameters);
  return (waited, now) => known?.next(read, waited, now) ?? { kind: 'give-up', reason: 'UNKNOWN_POLICY' };
}
