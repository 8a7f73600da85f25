import { MusterError } from '@muster/base/errors';
import { recordCommandOf } from '@muster/jobs/parts';
import { breakDisk, DISK_FAULTS, mendDisk } from '../kernel/disk-faults.js';
import { Violation } from '../kernel/violation.js';
import { TERMINAL } from './legal.js';
import type { ProcessLife } from './life.js';
import { MISHAPS, MOMENTS } from './moments.js';
import { APP, HPC, ORG } from './organization.js';
import { type RemoteSystem, TROUBLES } from './remote/system.js';
import { requestOf } from './wordcount.js';
import type { World } from './world.js';

export const FAULTS = [
  'process killed',
  'process stopped',
  'process stands still',
  'process is waylaid',
  'clock moved',
  'broker restarted',
  'broker takes nothing',
  'connection lost',
  'message duplicated',
  'database away',
  'system disabled',
  'app disabled',
  ...DISK_FAULTS,
  ...TROUBLES,
] as const;

export type Fault = (typeof FAULTS)[number];

/** What the wall clock of a process may be off by. */
const SKEW_MS = 140_000;

/** More would only make runs longer. */
const MOST_JOBS = 3;

const ASKER = { user: 'anna', address: null, admin: false, roles: null };
const ACTS = ['stop', 'pause', 'resume'] as const;
/** What people are told who ask for what cannot be, or not now. */
const REFUSALS: ReadonlySet<string> = new Set([
  'store_unavailable',
  'broker_unavailable',
  'job_queue_unavailable',
  'job_ended',
  'job_not_paused',
  'job_invalid',
  'too_busy',
]);

/** Somebody who submits a job with a key may send it again until it is taken. */
export interface Request {
  readonly key: string | null;
  readonly body: object;
  uuid: string | null;
}

/** What a seed does to processes, broker, database, systems and jobs. */
export class Chaos {
  readonly requests: Request[] = [];
  readonly faults = new Map<string, number>();
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  async misbehave(chaosMs: number | null): Promise<void> {
    const world = this.#world;
    const { random, timeline } = world;
    for (const member of world.members) world.begin(member);
    if (random.chance(0.4)) this.#waylay();
    const until = timeline.now + (chaosMs ?? random.pick([2_000, 5_000, 12_000]));
    const everyMs = random.pick([200, 500, 1_500]);
    const kinds = FAULTS.filter(() => random.chance(0.4));
    const most = random.integer(1, MOST_JOBS);
    while (world.violation === null && timeline.now < until) {
      await world.pass(timeline.now + random.around(everyMs));
      const fault = random.chance(0.4) ? random.some(kinds) : undefined;
      if (fault === undefined) this.work(most);
      else await this.cause(fault);
    }
  }

  /** What people do. */
  work(most: number): void {
    const { random, coverage } = this.#world;
    const life = random.some(this.#world.ready());
    if (life === undefined) return;
    if (this.requests.length < most && random.chance(0.7)) {
      const number = this.requests.length + 1;
      const key = random.chance(0.5) ? `key-${number}` : null;
      const request: Request = { key, body: requestOf(`job ${number}`, random.chance(0.6)), uuid: null };
      this.requests.push(request);
      this.submit(life, request);
      return;
    }
    const again = this.requests.find(({ key, uuid }) => key !== null && uuid === null);
    if (again !== undefined && random.chance(0.3)) return this.submit(life, again);
    const uuid = random.some([...this.#world.checks.jobs.keys()]);
    if (uuid === undefined || random.chance(0.3)) return;
    const act = random.pick(ACTS);
    coverage.reach(`act: ${act}`);
    this.ask(life, uuid, act);
  }

  submit(life: ProcessLife, request: Request): void {
    const { trace, report } = this.#world;
    const { front } = life;
    if (front === null) return;
    const taken = front.acceptance.submit(ORG, ASKER, request.body, request.key).then(({ uuid }) => {
      if (!life.process.alive) return;
      trace.say(() => `${uuid} is taken`);
      if (request.uuid !== null && request.uuid !== uuid) report(new Violation('one key, one job', `${uuid}`));
      request.uuid = uuid;
    });
    this.#asked(life, taken);
  }

  ask(life: ProcessLife, uuid: string, act: (typeof ACTS)[number]): void {
    const { trace } = this.#world;
    const { front } = life;
    if (front === null) return;
    const done = async (): Promise<void> => {
      const job = await life.jobs.find(uuid);
      trace.say(() => `${uuid}: somebody asks for it to ${act}, it is ${job?.status}`);
      if (job !== null) await front.commands[act](job, { user: 'otto', address: null });
    };
    this.#asked(life, done());
  }

  /** All that wait for something are tested now. */
  async testAll(life: ProcessLife): Promise<void> {
    const records = await this.#world.database.read.selectFrom('job_recovery').select('id').execute();
    for (const { id } of records) {
      const sent = life.front?.broker.publish(recordCommandOf(ORG.name, 'TEST_NOW', id, 'otto'));
      if (sent !== undefined) this.#asked(life, sent);
    }
  }

  #asked(life: ProcessLife, answer: Promise<void>): void {
    const { report, trace } = this.#world;
    answer.catch((error: unknown) => {
      if (!life.process.alive) return;
      trace.say(() => `refused: ${String(error)}`);
      const known = error instanceof MusterError && REFUSALS.has(error.code);
      if (!known)
        report(new Violation('answers', error instanceof Error ? (error.stack ?? error.message) : String(error)));
    });
  }

  async cause(fault: Fault): Promise<void> {
    const world = this.#world;
    const { random, timeline } = world;
    this.faults.set(fault, (this.faults.get(fault) ?? 0) + 1);
    world.coverage.reach(`fault: ${fault}`);
    world.trace.say(() => `fault: ${fault}`);
    const soon = random.integer(100, 8_000);
    const member = random.some(world.members);
    switch (fault) {
      case 'process killed':
      case 'process stopped':
        if (member === undefined) return;
        if (fault === 'process killed') world.kill(member);
        else await world.stop(member);
        timeline.after(random.pick([10, 1_000, 8_000]), null, () => world.begin(member));
        return;
      case 'process stands still': {
        const life = random.some([...world.lives.values()]);
        if (life !== undefined) life.process.frozenUntil = timeline.now + random.pick([1_000, 7_000, 15_000]);
        return;
      }
      case 'process is waylaid':
        return this.#waylay();
      case 'clock moved':
        if (member !== undefined) world.skew(member, random.between(-SKEW_MS, SKEW_MS));
        return;
      case 'broker restarted':
        world.stopBroker();
        timeline.after(soon, null, () => world.startBroker());
        return;
      case 'broker takes nothing':
        if (world.brokerServer === null) return;
        world.brokerServer.taking = false;
        timeline.after(soon, null, () => this.#brokerTakes());
        return;
      case 'connection lost':
        return world.loseConnection();
      case 'message duplicated':
        return world.duplicate();
      case 'database away':
        world.disk.failing = true;
        world.reads.failing = true;
        timeline.after(soon, null, () => world.databaseBack());
        return;
      case 'system disabled':
        return this.#disable(soon);
      case 'app disabled':
        await this.enableApp(false);
        timeline.after(soon, null, () => void this.enableApp(true));
        return;
      case 'slow commits':
      case 'failing commits':
      case 'lost commits':
        breakDisk(world.disk, fault, random, { usualMs: 2, slowMs: 500 });
        timeline.after(random.integer(100, 5_000), null, () => mendDisk(world.disk, 2));
        return;
      default: {
        const system = random.some([...world.systems.values()]);
        if (system === undefined) return;
        system.trouble = fault;
        timeline.after(soon, null, () => {
          if (system.trouble === fault) system.trouble = null;
        });
      }
    }
  }

  /** Nothing is in anybody's way any more. */
  async peace(): Promise<void> {
    const world = this.#world;
    mendDisk(world.disk, 2);
    world.ambush = null;
    world.reads.failing = false;
    world.startBroker();
    this.#brokerTakes();
    await this.enableApp(true);
    for (const system of world.systems.values()) {
      system.trouble = null;
      await this.#enable(system, true);
    }
    for (const member of world.members) world.begin(member);
  }

  /** Paused ones go on, and what was not taken is sent again. */
  goOn(): void {
    const life = this.#world.random.some(this.#world.ready());
    if (life === undefined) return;
    for (const { uuid, status } of this.#world.checks.jobs.values()) {
      if (status === 'PAUSED') this.ask(life, uuid, 'resume');
    }
    for (const request of this.requests) {
      if (request.key !== null && request.uuid === null) this.submit(life, request);
    }
  }

  /** Jobs that go on, and requests that wait for an answer. */
  unfinished(): string[] {
    const { jobs } = this.#world.checks;
    const waiting = this.requests.filter(({ key, uuid }) => (uuid === null ? key !== null : !jobs.has(uuid)));
    return [
      ...[...jobs.values()].flatMap(({ uuid, status }) => (TERMINAL.has(status) ? [] : [`${uuid} is ${status}`])),
      ...waiting.map(({ key, uuid }) => `${uuid ?? key} is not there`),
    ];
  }

  #waylay(): void {
    const { random } = this.#world;
    this.#world.ambush = { at: random.pick(MOMENTS), what: random.pick(MISHAPS) };
  }

  #brokerTakes(): void {
    if (this.#world.brokerServer !== null) this.#world.brokerServer.taking = true;
  }

  async #disable(forMs: number): Promise<void> {
    const system = this.#world.system(HPC);
    await this.#enable(system, false);
    this.#world.timeline.after(forMs, null, () => void this.#enable(system, true));
  }

  async #enable(system: RemoteSystem, enabled: boolean): Promise<void> {
    if (system.enabled === enabled) return;
    system.enabled = enabled;
    await this.#world.lanes.alone(() =>
      this.#world.database.read
        .updateTable('job_systems')
        .set({ enabled: enabled ? 1 : 0 })
        .where('name', '=', system.definition.name)
        .execute(),
    );
  }

  async enableApp(enabled: boolean): Promise<void> {
    const { lanes, database } = this.#world;
    await lanes.alone(() =>
      database.read
        .updateTable('job_apps')
        .set({ enabled: enabled ? 1 : 0 })
        .where('app_id', '=', APP)
        .execute(),
    );
  }
}
