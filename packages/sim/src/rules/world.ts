import { ManualClock } from '@muster/base';
import { newEvent, originOf } from '@muster/fabric';
import { actorOf, type Identity, type Organization } from '@muster/platform/auth';
import { createRules, type RuleLayer } from '@muster/rules';
import { DECLARED } from '@muster/server/compose';
import { generateKeyPair } from '@muster/signing';
import { type MemoryDatabase, openMemory } from '@muster/store';
import { Coverage } from '../kernel/coverage.js';
import type { Death } from '../kernel/dying-lane.js';
import { Random } from '../kernel/random.js';
import { Trace } from '../kernel/trace.js';
import { beginMortal, type MortalServer } from '../push/mortal-server.js';

/** Of everybody: long enough for the shipped code to take it. */
const { publicKey } = await generateKeyPair();
const TRACE_LINES = 100;
/** Turns of the event loop in which what can be done without time passing is done. */
const TURNS = 12;

export const NAME = 'clean';
export const ON = "type = 'disk.high'";

export interface Life extends MortalServer {
  readonly rules: RuleLayer;
}

/** What waits for somebody, or did. */
export interface Approval {
  readonly id: string;
  readonly hash: string;
  readonly kind: string;
  readonly status: string;
  readonly command: string;
  readonly job: string | null;
}

/**
 * A rule that starts a runbook which needs a second person, on the shipped layers over a database that outlives its server. What is stored
 * is looked at; who asks, agrees and publishes does it as people do, and does it again when the server died instead of answering.
 */
export class RuleWorld {
  readonly clock: ManualClock;
  readonly database: MemoryDatabase;
  readonly random: Random;
  readonly trace: Trace;
  readonly coverage = new Coverage();
  readonly org: Organization;
  /** How often the server was killed. */
  deaths = 0;
  steps = 0;
  readonly #people: ReadonlyMap<string, Identity>;

  private constructor(
    seed: number,
    parts: Pick<RuleWorld, 'clock' | 'database' | 'org'> & { readonly people: ReadonlyMap<string, Identity> },
    print: ((line: string) => void) | null,
  ) {
    this.random = new Random(seed);
    this.clock = parts.clock;
    this.database = parts.database;
    this.org = parts.org;
    this.#people = parts.people;
    this.trace = new Trace(() => this.clock.now(), TRACE_LINES, print);
  }

  static async open(seed: number, print: ((line: string) => void) | null): Promise<RuleWorld> {
    const clock = new ManualClock();
    const database = await openMemory(clock, DECLARED.migrations);
    const setup = await beginMortal(database, clock, null);
    const { auth, runbooks } = setup.composed;
    const server: Identity = { principalId: 'setup', type: 'user', name: 'setup', serverAdmin: true, publicKey: null };
    const org = await auth.organizations.create('default', actorOf(server));
    const people = new Map<string, Identity>();
    for (const name of ['author', 'second']) {
      const user = { name, publicKey, serverAdmin: false, organization: org, groups: ['admins'] };
      await auth.principals.createUser(user, actorOf(server));
      const [found] = await auth.repository.candidates(org.id, name);
      if (found === undefined) throw new Error(`no ${name}`);
      people.set(name, { ...found, name, publicKey });
    }
    const world = new RuleWorld(seed, { clock, database, org, people }, print);
    await runbooks.runbooks.create(org, NAME, definition(1), world.person('author'));
    await setup.stop();
    return world;
  }

  person(name: 'author' | 'second'): Identity {
    const found = this.#people.get(name);
    if (found === undefined) throw new Error(`no ${name}`);
    return found;
  }

  /** A server that is started, and dies at that commit of what it does then; null: it lives. */
  async begin(death: Death | null): Promise<Life> {
    const made: { rules?: RuleLayer } = {};
    const mortal = await beginMortal(this.database, this.clock, death, (composed) => {
      const { base, auth, runbooks, tasks, schedules } = composed;
      const { calendars } = schedules;
      const nobody = { submitOnce: () => Promise.reject(new Error('no rule of this scene submits a job')) };
      const jobs = { acceptance: nobody as unknown as Parameters<typeof createRules>[1]['jobs']['acceptance'] };
      made.rules = createRules(base, { auth, families: DECLARED.families, runbooks, tasks, jobs, calendars });
      return [made.rules];
    });
    if (made.rules === undefined) throw new Error('no rules were composed');
    return { ...mortal, rules: made.rules };
  }

  /** Time passes, and what falls due meanwhile is done. */
  async pass(ms: number): Promise<void> {
    this.clock.advance(ms);
    this.steps += 1;
    for (let turn = 0; turn < TURNS; turn++) await new Promise(setImmediate);
  }

  async publish({ composed }: Life, n: number): Promise<void> {
    const origin = originOf(this.org.name, `${this.org.name}/sensor`, 'service');
    const headers: [string, string][] = [
      ['type', 'disk.high'],
      ['n', String(n)],
    ];
    const event = newEvent(origin, headers, new Uint8Array());
    await composed.base.recorder.commit([], [{ orgId: this.org.id, subject: null, event }]);
  }

  async update({ composed }: Life): Promise<void> {
    const { runbooks } = composed.runbooks;
    const row = await runbooks.existing(this.org, NAME);
    if (row.version === 1) await runbooks.update(this.org, row, definition(2), this.person('author'));
  }

  rule() {
    return this.database.read.selectFrom('rules').selectAll().executeTakeFirst();
  }

  runs() {
    return this.database.read.selectFrom('rule_runs').selectAll().orderBy('position').execute();
  }

  jobs() {
    return this.database.read.selectFrom('push_jobs').select(['id', 'command', 'phase']).execute();
  }

  async approvals(): Promise<readonly Approval[]> {
    const rows = await this.database.read.selectFrom('push_approvals').selectAll().execute();
    return rows.map(({ id, hash, kind, status, command, job_id: job }) => ({ id, hash, kind, status, command, job }));
  }
}

/** Its command tells which version it is, and for which event it runs. */
function definition(version: number) {
  return {
    command: ['clean', String(version), '{{n}}'],
    parameters: { n: { type: 'string' as const } },
    approval: {},
    job: { nodes: ['n1'] },
  };
}
