import type { Death } from '../kernel/dying-lane.js';
import type { Run, RunOptions } from '../kernel/explore.js';
import { Violation } from '../kernel/violation.js';
import { check } from './checks.js';
import { type Approval, type Life, NAME, ON, RuleWorld } from './world.js';

/** Commits of a life among which the one is that it dies at. */
const COMMITS = 6;
/** A server that was killed is not killed again and again for ever. */
const DEATHS = 6;
const STEP_MS = 1_000;
/** Steps in which all that was published has been seen to, in peace. */
const PEACE = 120;

interface Act {
  readonly what: string;
  /** Done again when the server died instead of answering, unless it is stored. */
  readonly isStored: () => Promise<boolean>;
  readonly work: (life: Life) => Promise<unknown>;
}

/** One run: a rule is made, events happen, people decide, and the server is killed at commits that the seed draws; then peace. */
export async function simulateRules(seed: number, options: RunOptions = {}): Promise<Run> {
  const world = await RuleWorld.open(seed, options.print ?? null);
  const began = world.clock.now();
  let violation: Violation | null = null;
  let recoveredMs = 0;
  const scene = new Scene(world);
  try {
    await scene.play();
    const calm = world.clock.now();
    await scene.peace();
    recoveredMs = world.clock.now() - calm;
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    violation = error;
    world.trace.say(() => `VIOLATION ${error.message}`);
  }
  const jobs = await world.jobs();
  const approvals = await world.approvals();
  // A server that broke a rule may still write.
  if (violation === null) world.database.close();
  return {
    ...{ seed, violation, steps: world.steps, recoveredMs, virtualMs: world.clock.now() - began },
    faults: new Map([['killed', world.deaths]]),
    outcomes: new Map(approvals.map(({ status }) => [status, approvals.filter((one) => one.status === status).length])),
    reached: world.coverage.counts,
    work: { events: scene.published.size, jobs: jobs.length },
    tail: violation === null ? [] : world.trace.tail(),
  };
}

class Scene {
  /** Of each event whether the rule was there when it was published. */
  readonly published = new Map<number, boolean>();
  readonly #world: RuleWorld;
  readonly #asks: 'each' | 'once';
  #life: Life | null = null;
  /** Of this life. */
  #death: Death | null = null;

  constructor(world: RuleWorld) {
    this.#world = world;
    this.#asks = world.random.pick(['each', 'once']);
    world.coverage.reach(this.#asks === 'once' ? 'asked once' : 'asked at each event');
  }

  async play(): Promise<void> {
    const { random } = this.#world;
    if (random.chance(0.2)) await this.#publish();
    await this.#act(this.#made());
    if (random.chance(0.3)) await this.#publish();
    for (const one of await this.#pending('rule')) await this.#act(this.#decided(one, 'others agree to the rule'));
    const events = random.integer(1, 3);
    const changesAt = random.chance(0.3) ? random.integer(0, events) : null;
    for (let n = 0; n < events; n++) {
      if (n === changesAt) await this.#act(this.#changed());
      await this.#publish();
      if (random.chance(0.5)) await this.#decideRuns();
    }
    await this.#decideRuns();
  }

  /** Nobody is killed any more: all that was published has its work, which ends. @throws Violation */
  async peace(): Promise<void> {
    const world = this.#world;
    // It may be killed while it stops, too.
    if (this.#life !== null) await Promise.race([this.#life.stop(), this.#life.died]);
    const life = await world.begin(null);
    this.#life = life;
    this.#death = null;
    for (let step = 0; step < PEACE; step++) {
      await world.pass(STEP_MS);
      await this.#decideRuns();
      await check(world);
      if (await this.#isWell()) {
        await life.stop();
        return;
      }
    }
    const runs = (await world.runs()).map(({ outcome, run }) => `${outcome} ${run}`).join(', ');
    throw new Violation('not lost', `${this.published.size} events were published; runs: ${runs}`);
  }

  async #isWell(): Promise<boolean> {
    const world = this.#world;
    const commands = [...(await world.jobs()), ...(await world.approvals())].map(({ command }) => command);
    const rule = await world.rule();
    for (const [n, wasThere] of this.published) {
      const found = commands.some((command) => command.endsWith(` ${n}`));
      if (found && !wasThere) throw new Violation('agreed to', `event ${n} was before the rule, and has work`);
      if (!found && wasThere && rule !== undefined) return false;
    }
    return (await world.jobs()).every(({ phase }) => phase === 'finished');
  }

  /** Asked for, or made where others are asked at each event. */
  #made(): Act {
    const world = this.#world;
    const parameters = { n: '{n}' };
    const asked = {
      ...{ selector: ON, enabled: true, asks: this.#asks, notDuring: [], blackout: 'skip' as const },
      work: { kind: 'runbook' as const, runbook: NAME, parameters, node: null },
      atMost: { runs: 1000, seconds: 60 },
    };
    return {
      what: 'the rule is asked for or made',
      isStored: async () => (await world.rule()) !== undefined || (await this.#pending('rule')).length > 0,
      async work({ rules: { granted, rules } }) {
        const author = world.person('author');
        const waits = await granted.ask(world.org, 'disk-full', null, asked, author);
        if (waits === null) await rules.create(world.org, 'disk-full', asked, author);
      },
    };
  }

  #changed(): Act {
    const world = this.#world;
    world.coverage.reach('the runbook is another one than others agreed to');
    return { what: 'the runbook is changed', isStored: async () => false, work: (life) => world.update(life) };
  }

  async #publish(): Promise<void> {
    const world = this.#world;
    const n = this.published.size + 1;
    const rule = await world.rule();
    this.published.set(n, rule !== undefined);
    if (rule === undefined && this.#asks === 'once') world.coverage.reach('an event before others agreed to the rule');
    await this.#act({
      what: 'an event is published',
      isStored: () => this.#wasPublished(n),
      work: (life) => world.publish(life, n),
    });
    // What it starts is stored meanwhile, or not: the server may die of that, too.
    await this.#act({ what: 'the work of an event is stored', isStored: async () => true, work: () => this.#wait() });
  }

  async #wasPublished(n: number): Promise<boolean> {
    const rows = await this.#world.database.read.selectFrom('event_log').select('frames').execute();
    const text = Buffer.concat(rows.map(({ frames }) => Buffer.from(frames))).toString('latin1');
    return text.includes(`type:disk.high\nn:${n}\n`);
  }

  async #wait(): Promise<void> {
    for (let step = this.#world.random.integer(0, 3); step > 0; step--) await this.#world.pass(STEP_MS);
  }

  async #decideRuns(): Promise<void> {
    for (const one of await this.#pending('runbook')) await this.#act(this.#decided(one, 'others decide on a run'));
  }

  #decided({ id, hash }: Approval, what: string): Act {
    const world = this.#world;
    const second = world.person('second');
    const denies = world.random.chance(0.15);
    if (denies) world.coverage.reach('denied');
    return {
      what,
      isStored: async () => (await world.approvals()).some((one) => one.id === id && one.status !== 'pending'),
      work: ({ composed: { runbooks } }) =>
        denies
          ? runbooks.approvals.deny(world.org, id, null, second)
          : runbooks.approvals.grant(world.org, id, hash, second),
    };
  }

  async #pending(kind: 'rule' | 'runbook'): Promise<readonly Approval[]> {
    return (await this.#world.approvals()).filter((one) => one.kind === kind && one.status === 'pending');
  }

  /** Until it is done, by whichever server lives. */
  async #act({ what, isStored, work }: Act): Promise<void> {
    const world = this.#world;
    for (;;) {
      const life = await this.#living();
      world.trace.say(() => what);
      const end = await Promise.race([work(life).then(() => 'done' as const), life.died]);
      await check(world);
      if (end === 'done') return;
      const when = this.#death?.stored === true ? 'after' : 'before';
      world.trace.say(() => `killed ${when} it is stored`);
      world.coverage.reach(`killed ${when} it is stored: ${what}`);
      world.deaths += 1;
      this.#life = null;
      if (await isStored()) return;
    }
  }

  async #living(): Promise<Life> {
    const world = this.#world;
    if (this.#life !== null) return this.#life;
    const { random } = world;
    const dies = world.deaths < DEATHS && random.chance(0.8);
    this.#death = dies ? { commit: random.integer(0, COMMITS), stored: random.chance(0.5) } : null;
    this.#life = await world.begin(this.#death);
    await world.pass(STEP_MS);
    return this.#life;
  }
}
