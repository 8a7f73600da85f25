import { breakDisk, mendDisk } from '../kernel/disk-faults.js';
import type { ClientProcess } from './client-process.js';
import { SLOWEST_MS } from './losses.js';
import type { ClientPlace, RelayPlace } from './places.js';
import { makeSubscription, type TreeFault } from './plan.js';
import type { TreeWorld } from './world.js';

/** Longest time from now at which a future event is due. */
const FUTURE_MS = 4_000;

/** Lets faults and events happen until `stop`; each fault is undone after a while. */
export class TreeChaos {
  readonly #world: TreeWorld;
  readonly #random: TreeWorld['random'];
  readonly #until: number;
  #on = true;
  /** How often each fault was made. */
  readonly made = new Map<TreeFault, number>();

  constructor(world: TreeWorld) {
    this.#world = world;
    this.#random = world.random.fork();
    this.#until = world.timeline.now + world.plan.chaosMs;
    this.#nextFault();
    this.#nextEvent();
    this.#nextChange();
  }

  /** Between any two steps. */
  between(): void {
    const { faults, crashPerStep } = this.#world.plan;
    if (!this.#on || !this.#random.chance(crashPerStep)) return;
    const crash = this.#random.some(faults.filter((fault) => fault.endsWith(' crash')));
    if (crash !== undefined) this.#make(crash);
  }

  /** No more faults, and what is broken is mended. */
  stop(): void {
    const { clients, disk, network, plan, relays, rootHost, trace } = this.#world;
    this.#on = false;
    this.#world.troubled = false;
    trace.say(() => '--- the faults stop ---');
    mendDisk(disk, plan.commitMs);
    rootHost.reading = null;
    for (const { host, link } of [...relays, ...clients]) {
      host.reading = null;
      link.delayMs = 0;
      if (link.cut) network.heal(link);
    }
  }

  #later(ms: number, work: () => void): void {
    this.#world.timeline.after(ms, null, work);
  }

  #nextFault(): void {
    const { faults, faultEveryMs } = this.#world.plan;
    if (faults.length === 0) return;
    this.#later(this.#random.around(faultEveryMs), () => {
      if (!this.#on) return;
      const fault = this.#random.some(faults);
      if (fault !== undefined) this.#make(fault);
      this.#nextFault();
    });
  }

  #nextEvent(): void {
    const { bodyBytes, publishEveryMs } = this.#world.plan;
    const random = this.#random;
    this.#later(random.around(publishEveryMs), () => {
      if (!this.#on) return;
      const client = random.some(this.#world.clients)?.client;
      if (client != null && !this.#world.isFrozen(client.process)) {
        const nowMs = Math.floor(this.#world.timeline.now);
        const dueMs = random.chance(0.05) ? nowMs + random.integer(-100, FUTURE_MS) : null;
        // Now and then many in one turn.
        const count = random.chance(0.1) ? random.integer(2, 20) : 1;
        for (let each = 0; each < count; each++) client.publish(random.chance(0.7), dueMs, bodyBytes);
      }
      this.#nextEvent();
    });
  }

  /** Programs change what they follow. */
  #nextChange(): void {
    const random = this.#random;
    this.#later(random.around(2_000), () => {
      if (!this.#on) return;
      const place = random.some(this.#world.clients);
      const client = place?.client;
      if (place !== undefined && client != null && !this.#world.isFrozen(client.process)) {
        const following = random.some([...client.following]);
        if (following !== undefined && random.chance(0.5)) client.unsubscribe(following);
        if (client.following.size < 4) client.subscribe(makeSubscription(random));
        this.#changeDurables(place, client);
      }
      this.#nextChange();
    });
  }

  /** A program reads a durable subscription no more, for a while or for ever; who forgets one begins it anew. */
  #changeDurables(place: ClientPlace, client: ClientProcess): void {
    const random = this.#random;
    const program = random.some([...client.reading]);
    if (program === undefined || random.chance(0.6)) return client.readAll(place.durables);
    const { reader } = program;
    const forget = random.chance(0.4);
    const world = this.#world;
    // Until it is certain what became of it, nobody reads it.
    if (forget) world.dropDurable(place, reader);
    void client.leave(program, forget).then((forgotten) => {
      if (forgotten) reader.forgotten();
      if (forgotten) world.keepDurable(place, reader);
      else if (forget) world.newDurable(place, { ...reader.plan, name: `${reader.plan.name}-` });
      this.#later(random.around(1_000), () => {
        if (place.client === client) client.readAll(place.durables);
      });
    });
  }

  #make(fault: TreeFault): void {
    this.made.set(fault, (this.made.get(fault) ?? 0) + 1);
    const world = this.#world;
    world.coverage.reach(`fault: ${fault}`);
    const random = this.#random;
    const relay = random.some(world.relays);
    const client = random.some(world.clients);
    if (relay === undefined || client === undefined) return;
    const place = random.chance(0.5) ? relay : client;
    const silent = random.chance(0.3);
    // What is undone by time alone ends with the faults.
    const forMs = Math.min(random.around(random.pick([200, 2_000, 8_000])), this.#until - world.timeline.now);
    switch (fault) {
      case 'root crash':
        world.crashRoot(silent);
        return this.#later(forMs, () => world.startRoot());
      case 'root stop':
        return void world.stopRoot().then(() => this.#later(forMs, () => world.startRoot()));
      case 'relay crash':
        world.crashRelay(relay, silent);
        return this.#later(forMs, () => world.startRelay(relay));
      case 'relay stop':
        return void world.stopRelay(relay).then(() => this.#later(forMs + 100, () => world.startRelay(relay)));
      case 'client crash':
        world.crashClient(client, silent);
        return this.#later(forMs, () => world.startClient(client));
      case 'root freeze':
        return this.#freeze('the root', world.root?.process, forMs);
      case 'relay freeze':
        return this.#freeze(relay.plan.name, relay.relay?.process, forMs);
      case 'client freeze':
        return this.#freeze(client.plan.name, client.client?.process, forMs);
      case 'connection drop': {
        const end = random.some([...world.network.ends]);
        if (end === undefined) return;
        world.trace.say(() => `the connection of ${end.link.name} is broken`);
        return world.network.drop(end);
      }
      case 'partition':
        return this.#partition(place, forMs);
      case 'slow network':
        place.link.delayMs = Math.min(random.around(300), SLOWEST_MS);
        return this.#later(forMs, () => {
          place.link.delayMs = 0;
        });
      case 'slow reader':
        return this.#slowReader(place, forMs);
      case 'slow commits':
      case 'failing commits':
      case 'lost commits':
        return this.#later(forMs, breakDisk(world.disk, fault, random, { usualMs: world.plan.commitMs, slowMs: 700 }));
      case 'revocation': {
        const { org, name } = place.plan;
        const principal = random.chance(0.8) ? `${org}/${name}` : null;
        world.trace.say(() => `the rights of ${principal ?? org} change`);
        if (!world.isFrozen(world.root?.process)) world.root?.revoke(org, principal);
        return;
      }
    }
  }

  #freeze(name: string, process: { frozenUntil: number } | undefined, forMs: number): void {
    const { timeline, trace } = this.#world;
    if (process === undefined || process.frozenUntil > timeline.now) return;
    trace.say(() => `${name} stands still for ${Math.round(forMs)} ms`);
    process.frozenUntil = timeline.now + forMs;
  }

  #partition({ link }: RelayPlace | ClientPlace, forMs: number): void {
    const { network, trace } = this.#world;
    if (link.cut) return;
    trace.say(() => `${link.name} is cut off`);
    network.cut(link);
    this.#later(forMs, () => {
      if (!link.cut) return;
      trace.say(() => `${link.name} is reached again`);
      network.heal(link);
    });
  }

  #slowReader({ host }: RelayPlace | ClientPlace, forMs: number): void {
    host.reading = { bytes: this.#random.pick([50, 400]), everyMs: this.#random.pick([20, 200]) };
    this.#world.trace.say(() => `${host.name} reads slowly`);
    this.#later(forMs, () => {
      host.reading = null;
    });
  }
}
