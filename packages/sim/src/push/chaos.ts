import { breakDisk, mendDisk } from '../kernel/disk-faults.js';
import type { Random } from '../kernel/random.js';
import type { NodePlace, ServerPlace } from './places.js';
import type { Fault } from './scenario.js';
import type { World } from './world.js';

/** Farthest a clock is put wrong: within what messages bear, as two of them may be wrong at once. */
const SKEW_MS = 140_000;

/** Lets faults happen until `stop`, each undone after a while. */
export class Chaos {
  readonly #world: World;
  readonly #random: Random;
  readonly #until: number;
  #on = true;
  /** How often each fault was made. */
  readonly made = new Map<Fault, number>();

  constructor(world: World) {
    this.#world = world;
    this.#random = world.random.fork();
    this.#until = world.timeline.now + world.scenario.chaosMs;
    this.#next();
    for (let job = 0; job < world.scenario.jobs; job++) {
      this.#later(this.#random.between(0, world.scenario.chaosMs * 0.9), () => void this.#submit());
    }
    this.#aborts();
    this.#continues();
  }

  get on(): boolean {
    return this.#on;
  }

  /** Between any two steps. */
  between(): void {
    const { scenario, nodes } = this.#world;
    if (!this.#on || !this.#random.chance(scenario.crashPerStep)) return;
    const { faults } = scenario;
    if (faults.includes('server crash') && this.#random.chance(0.5)) this.#make('server crash');
    else if (faults.includes('agent crash') && nodes.length > 0) this.#make('agent crash');
  }

  /** No more faults, and what is broken is mended. */
  stop(): void {
    const { nodes, disk, scenario, network, trace } = this.#world;
    this.#on = false;
    trace.say(() => '--- the faults stop ---');
    mendDisk(disk, scenario.commitMs);
    for (const { path } of nodes) {
      path.drop = path.duplicate = path.reorder = path.delayMs = 0;
      network.heal(path);
    }
  }

  #later(ms: number, work: () => void): void {
    this.#world.timeline.after(ms, null, work);
  }

  #next(): void {
    const { scenario } = this.#world;
    if (scenario.faults.length === 0) return;
    this.#later(this.#random.around(scenario.faultEveryMs), () => {
      if (!this.#on) return;
      const fault = this.#random.some(scenario.faults);
      if (fault !== undefined) this.#make(fault);
      this.#next();
    });
  }

  /** Some jobs are aborted soon, while their nodes vote or start. */
  async #submit(): Promise<void> {
    const jobId = await this.#world.submit();
    if (!this.#random.chance(0.15)) return;
    this.#later(this.#random.pick([0, 20, 300, 3_000]), () => {
      if (this.#on) void this.#world.abort(jobId);
    });
  }

  #aborts(): void {
    if (!this.#random.chance(0.5)) return;
    this.#later(this.#random.between(0, this.#world.scenario.chaosMs), () => {
      if (!this.#on) return;
      const jobId = this.#random.some([...this.#world.ledger.durable.jobs.keys()]);
      if (jobId !== undefined) void this.#world.abort(jobId);
      this.#aborts();
    });
  }

  /** Somebody looks at the jobs that are held, now and then. */
  #continues(): void {
    this.#later(this.#random.around(7_000), () => {
      if (!this.#on) return;
      const { jobs } = this.#world.ledger.durable;
      const jobId = this.#random.some([...jobs.values()].filter(({ stage }) => stage?.hold != null))?.id;
      if (jobId !== undefined) void this.#world.continue(jobId);
      this.#continues();
    });
  }

  #make(fault: Fault): void {
    this.made.set(fault, (this.made.get(fault) ?? 0) + 1);
    const world = this.#world;
    world.coverage.reach(`fault: ${fault}`);
    const random = this.#random;
    const place = random.some(world.nodes);
    const machine = random.some(world.servers.places);
    if (place === undefined || machine === undefined) return;
    const { server } = machine;
    const { host } = machine.plan;
    const { path } = place;
    // What is undone by time alone ends with the faults.
    const forMs = Math.min(random.around(random.pick([300, 3_000, 12_000])), this.#until - world.timeline.now);
    switch (fault) {
      case 'server crash':
        if (server === null) return;
        world.servers.crash(machine);
        return this.#later(forMs, () => void world.servers.start(host));
      case 'server stop':
        if (server === null) return;
        return void world.servers.stop(machine).then(() => this.#later(forMs, () => void world.servers.start(host)));
      case 'agent crash':
        world.crashAgent(place);
        return this.#later(forMs, () => world.startAgent(place));
      case 'agent stop':
        return void world.stopAgent(place).then(() => this.#later(forMs, () => world.startAgent(place)));
      case 'power cut':
        world.powerCut(place);
        return this.#later(forMs, () => world.startAgent(place));
      case 'reinstall':
        world.reinstall(place);
        return this.#later(forMs, () => world.startAgent(place));
      case 'server freeze':
        if (server === null || server.process.frozenUntil > world.timeline.now) return;
        world.trace.say(() => `${machine.plan.name} stands still for ${Math.round(forMs)} ms`);
        server.process.frozenUntil = world.timeline.now + forMs;
        return world.deadlines.postpone(forMs);
      case 'agent freeze':
        if (place.agent === null || place.agent.process.frozenUntil > world.timeline.now) return;
        world.trace.say(() => `${place.plan.name} stands still for ${Math.round(forMs)} ms`);
        place.agent.process.frozenUntil = world.timeline.now + forMs;
        return;
      case 'partition':
        if (path.cut) return;
        world.trace.say(() => `${path.node} is cut off`);
        world.network.cut(path, world.scenario.config.heartbeat.interval * 1000);
        return this.#later(forMs, () => {
          world.trace.say(() => `${path.node} is reached again`);
          world.network.heal(path);
        });
      case 'packets':
        return this.#packets(place, forMs);
      case 'slow network':
        path.delayMs = random.around(1_000);
        return this.#later(forMs, () => {
          path.delayMs = 0;
        });
      case 'slow commits':
      case 'failing commits':
      case 'lost commits':
        return this.#later(
          forMs,
          breakDisk(world.disk, fault, random, { usualMs: world.scenario.commitMs, slowMs: 1_500 }),
        );
      case 'server clock':
        return this.#serverClock(machine);
      case 'agent clock':
        place.skewMs = random.between(-SKEW_MS, SKEW_MS);
        world.trace.say(() => `the clock of ${path.node} is set ${Math.round(place.skewMs)} ms wrong`);
        if (place.agent !== null) place.agent.process.skewMs = place.skewMs;
        return;
    }
  }

  /** ZeroMQ over TCP loses messages, with their connection; it repeats and swaps none. Our own dialect bears it all. */
  #packets({ path, plan }: NodePlace, forMs: number): void {
    const native = plan.dialect === 'native';
    path.drop = this.#random.pick([0, 0.05, 0.3]);
    path.duplicate = native ? this.#random.pick([0, 0.1, 0.5]) : 0;
    path.reorder = native ? this.#random.pick([0, 0.1, 0.5]) : 0;
    this.#later(forMs, () => {
      path.drop = path.duplicate = path.reorder = 0;
    });
  }

  #serverClock(machine: ServerPlace): void {
    const { deadlines, timeline, trace } = this.#world;
    const before = machine.skewMs;
    machine.skewMs = this.#random.between(-SKEW_MS, SKEW_MS);
    trace.say(() => `the clock of ${machine.plan.name} is set ${Math.round(machine.skewMs)} ms wrong`);
    if (machine.server === null) return;
    machine.server.process.skewMs = machine.skewMs;
    machine.attentiveFrom = timeline.now;
    deadlines.postpone(Math.abs(machine.skewMs - before));
  }
}
