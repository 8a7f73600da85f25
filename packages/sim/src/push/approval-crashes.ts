import { ManualClock } from '@muster/base';
import { actorOf, type Identity, type Organization } from '@muster/platform/auth';
import type { RunbookLayer } from '@muster/push';
import { DECLARED } from '@muster/server/compose';
import { generateKeyPair } from '@muster/signing';
import { type MemoryDatabase, openMemory } from '@muster/store';
import { Coverage } from '../kernel/coverage.js';
import type { Death } from '../kernel/dying-lane.js';
import { Violation } from '../kernel/violation.js';
import { beginMortal, type MortalServer } from './mortal-server.js';

/**
 * A runbook that needs a second person, on the shipped layers over a database that outlives its server. The server is killed at one commit
 * after another, until it lives through the whole scene: what was granted is started once, and nothing else is.
 */

const NAME = 'deploy';
/** Of everybody: long enough for the shipped code to take it. */
const { publicKey } = await generateKeyPair();
/** Turns of the event loop that a push job on an unknown node takes to end; many more than it needs. */
const TURNS = 5_000;

const SERVER: Identity = { principalId: 'setup', type: 'user', name: 'setup', serverAdmin: true, publicKey: null };

interface Life extends RunbookLayer {
  readonly auth: MortalServer['composed']['auth'];
  /** Resolves when it is killed. */
  readonly died: Promise<'died'>;
  stop(): Promise<void>;
}

/** What somebody tries while the server may die. */
export type Scene = (place: ApprovalPlace, life: Life) => readonly Promise<Told>[];

/** What somebody was told before it did. */
export type Told =
  | { readonly kind: 'granted'; readonly job: string }
  | { readonly kind: 'agreed' }
  | { readonly kind: 'denied' }
  | { readonly kind: 'refused'; readonly reason: string };

export class ApprovalPlace {
  readonly database: MemoryDatabase;
  readonly clock: ManualClock;
  readonly org: Organization;
  approval = { id: '', hash: '' };
  readonly #people = new Map<string, Identity>();

  private constructor(database: MemoryDatabase, clock: ManualClock, org: Organization) {
    this.database = database;
    this.clock = clock;
    this.org = org;
  }

  /** With a runbook, and a run of it that waits for so many others. */
  static async create(grants: number): Promise<ApprovalPlace> {
    const clock = new ManualClock();
    const database = await openMemory(clock, DECLARED.migrations);
    const setup = await begin(database, clock, null);
    const org = await setup.auth.organizations.create('default', actorOf(SERVER));
    const place = new ApprovalPlace(database, clock, org);
    for (const name of ['author', 'asker', 'second', 'third']) {
      const groups = name === 'asker' ? [] : ['admins'];
      await setup.auth.principals.createUser(
        { name, publicKey, serverAdmin: false, organization: org, groups },
        actorOf(SERVER),
      );
      const [found] = await setup.auth.repository.candidates(org.id, name);
      if (found === undefined) throw new Error(`no ${name}`);
      const { principalId, type, serverAdmin } = found;
      place.#people.set(name, { principalId, type, name, serverAdmin, publicKey });
    }
    await setup.runbooks.create(
      org,
      NAME,
      { command: ['deploy', 'it'], runners: ['asker'], approval: {}, job: { nodes: ['n1'] } },
      place.person('author'),
    );
    const row = await setup.runbooks.existing(org, NAME);
    const plan = await setup.runbooks.plan(org, row, { parameters: {} });
    const { id, hash } = await setup.approvals.ask(org, setup.runbooks.orderOf(plan), place.person('asker'), {
      needs: [{ by: [], grants, why: `runbook ${NAME}` }],
    });
    place.approval = { id, hash };
    await setup.stop();
    return place;
  }

  person(name: string): Identity {
    const found = this.#people.get(name);
    if (found === undefined) throw new Error(`no ${name}`);
    return found;
  }

  begin(death: Death | null): Promise<Life> {
    return begin(this.database, this.clock, death);
  }

  async grant({ approvals }: Life, name: string): Promise<Told> {
    const { id, hash } = this.approval;
    return approvals
      .grant(this.org, id, hash, this.person(name))
      .then(({ run }): Told => (run === null ? { kind: 'agreed' } : { kind: 'granted', job: run }), refusal);
  }

  async deny({ approvals }: Life, name: string): Promise<Told> {
    return approvals
      .deny(this.org, this.approval.id, null, this.person(name))
      .then((): Told => ({ kind: 'denied' }), refusal);
  }

  jobs() {
    return this.database.read.selectFrom('push_jobs').select(['id', 'command', 'phase']).execute();
  }

  async row() {
    const { read } = this.database;
    return read.selectFrom('push_approvals').selectAll().where('id', '=', this.approval.id).executeTakeFirstOrThrow();
  }

  /** What the database holds, in words. */
  async standing(): Promise<string> {
    const [{ status, grants }, [job]] = await Promise.all([this.row(), this.jobs()]);
    const agreed = (JSON.parse(grants) as readonly unknown[]).length;
    return `${status}, agreed to by ${agreed}; ${job === undefined ? 'no push job' : `a push job that is ${job.phase}`}`;
  }

  /** @throws Violation */
  async check(told: readonly Told[]): Promise<void> {
    const [job, another] = await this.jobs();
    const { status, job_id } = await this.row();
    if (another !== undefined) throw new Violation('once', 'two push jobs were started');
    if ((status === 'started') !== (job !== undefined)) {
      throw new Violation(
        'one commit',
        `the approval is ${status}, and there is ${job === undefined ? 'no' : 'a'} push job`,
      );
    }
    if (job !== undefined && job_id !== job.id) throw new Violation('one commit', `${job_id} is not ${job.id}`);
    if (job !== undefined && job.command !== 'deploy it') throw new Violation('as approved', job.command);
    for (const one of told) {
      if (one.kind === 'granted' && one.job !== job?.id) throw new Violation('not lost', `${one.job} was told`);
      if (one.kind === 'denied' && status !== 'denied')
        throw new Violation('not lost', `it was denied, and is ${status}`);
    }
  }

  /** What was started goes on in whichever server is there. @throws Violation */
  async ended(): Promise<void> {
    for (let turn = 0; turn < TURNS; turn++) {
      if ((await this.jobs()).every(({ phase }) => phase === 'finished')) return;
      await new Promise(setImmediate);
    }
    throw new Violation('not lost', 'a push job that was started does not go on');
  }
}

function refusal(error: unknown): Told {
  return { kind: 'refused', reason: error instanceof Error ? error.message : String(error) };
}

/**
 * Kills the server at each commit of the scene in turn, both ways. What the database held at these moments, and how often.
 * @throws Violation
 */
export async function killAtEveryCommit(scene: Scene, grants = 1): Promise<Coverage> {
  const moments = new Coverage();
  for (const stored of [false, true]) {
    for (let commit = 0; ; commit++) {
      const place = await ApprovalPlace.create(grants);
      const life = await place.begin({ commit, stored });
      const told: Told[] = [];
      const all = Promise.all(scene(place, life).map(async (one) => void told.push(await one)));
      const end = await Promise.race([all.then(() => life.stop()), life.died]);
      if (end !== 'died') {
        await place.check(told);
        place.database.close();
        break;
      }
      moments.reach(await place.standing());
      await place.check(told);
      const next = await place.begin(null);
      // Who had no answer asks again.
      const again = await Promise.all(scene(place, next));
      await place.check([...told, ...again]);
      await place.ended();
      await next.stop();
      place.database.close();
    }
  }
  return moments;
}

async function begin(database: MemoryDatabase, clock: ManualClock, death: Death | null): Promise<Life> {
  const { composed, died, stop } = await beginMortal(database, clock, death);
  return { ...composed.runbooks, auth: composed.auth, died, stop };
}
