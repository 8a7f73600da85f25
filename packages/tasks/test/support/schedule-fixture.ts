import type { ManualClock } from '@muster/base';
import { type Auth, createAuth, type Identity, type Organization, systemRandom } from '@muster/platform/auth';
import { ServerConfigSchema } from '@muster/platform/config';
import type { Base } from '@muster/platform/layers';
import { type Recorder, readOwnEvent } from '@muster/platform/log';
import { Metrics } from '@muster/platform/metrics';
import { SealingKey, Secrets } from '@muster/platform/secrets';
import { createPush, createRunbooks, type Push } from '@muster/push';
import { firstServerKey } from '@muster/signing';
import { Value } from 'typebox/value';
import { DECLARED } from '../../../platform/test/support/layers.js';
import { noProviders } from '../../../platform/test/support/no-providers.js';
import { ME } from '../../../platform/test/support/personas.js';
import { openRecorder } from '../../../platform/test/support/recorder.js';
import { openTestStore, type TestStore } from '../../../platform/test/support/test-store.js';
import { madeKey } from '../../../signing/test/support/made-keys.js';
import { createTasks, type Tasks } from '../../src/layer.js';
import type { NewSchedule } from '../../src/schedules/administration.js';
import { createSchedules, type Schedules } from '../../src/schedules/layer.js';
import type { LiveSchedule } from '../../src/schedules/live-schedule.js';
import type { ScheduleRow } from '../../src/schedules/repository.js';
import { taskSecrets } from '../../src/secrets/use.js';
import { ORG, PlayedNodes } from './played-nodes.js';

const keys = madeKey(0);

export interface Told {
  readonly type: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly data: unknown;
}

/** Schedules on a real store, beside queues, tasks and push jobs; nodes are played. It can be started again. */
export class ScheduleFixture {
  readonly clock: ManualClock;
  readonly nodes = new PlayedNodes();
  readonly told: Told[] = [];
  readonly org: Organization = ORG;
  auth!: Auth;
  tasks!: Tasks;
  push!: Push;
  schedules!: Schedules;
  recorder!: Recorder;
  readonly #test: TestStore;
  #stops: (() => Promise<void>)[] = [];

  constructor(test: TestStore) {
    this.#test = test;
    this.clock = test.clock;
  }

  get store() {
    return this.#test.store;
  }

  get read() {
    return this.#test.store.read;
  }

  async start(): Promise<void> {
    const { store, clock, nodes } = this;
    this.recorder = await openRecorder(store, clock);
    const stopListening = this.recorder.onStored((events) => {
      for (const { recorded } of events) this.told.push(readOwnEvent(recorded));
    });
    const failed = (error: unknown) => {
      throw error;
    };
    const log = () => undefined;
    const base: Base = {
      store,
      recorder: this.recorder,
      clock,
      logger: { debug: log, info: log, warn: log, error: (about: object) => failed(new Error(JSON.stringify(about))) },
      metrics: new Metrics(),
      config: Value.Parse(ServerConfigSchema, Value.Default(ServerConfigSchema, {})),
      incarnation: 'test',
      serverName: 'test',
      random: systemRandom,
    };
    this.auth = createAuth({
      store,
      recorder: this.recorder,
      clock,
      random: systemRandom,
      selection: { select: () => [], check: log },
      serverKeys: firstServerKey(keys),
      sealing: SealingKey.of(new Uint8Array(32)),
      auditFailed: failed,
      rights: DECLARED.rights,
      incarnation: 'test',
      standingFailed: failed,
    });
    const secrets = new Secrets({
      store,
      auth: this.auth,
      key: SealingKey.of(new Uint8Array(32)),
      providers: noProviders(),
    });
    this.push = createPush(base, { nodes, secrets });
    const { push } = this;
    this.tasks = createTasks(base, { nodes, secrets: taskSecrets(secrets, this.auth) });
    this.schedules = createSchedules(base, {
      auth: this.auth,
      push,
      tasks: this.tasks,
      runbooks: createRunbooks(base, { auth: this.auth, push }),
    });
    const layers = [push, this.tasks, this.schedules];
    for (const layer of layers) await layer.load();
    for (const layer of layers) layer.start();
    this.#stops = [...layers.map((layer) => () => layer.stop()), () => this.auth.stop()].reverse();
    this.#stops.push(async () => stopListening());
  }

  async stop(): Promise<void> {
    for (const stop of this.#stops) await stop();
    this.#stops = [];
  }

  /** While it is not there, so much time passes. */
  async restart(passMs = 0): Promise<void> {
    await this.stop();
    this.clock.advance(passMs);
    await this.start();
  }

  async close(): Promise<void> {
    await this.stop();
    await this.#test.close();
  }

  async makeOrganization(): Promise<void> {
    // The one in which nodes are played.
    await this.store.transact((trx) =>
      trx
        .insertInto('organizations')
        .values({ ...ORG, created_at: 0 })
        .execute(),
    );
    this.auth.repository.changed();
    for (const name of ['anna', 'bert']) {
      await this.auth.principals.createUser(
        { name, publicKey: keys.publicKey, serverAdmin: false, organization: this.org, groups: [] },
        ME,
      );
    }
    await this.allow('task_writers', 'anna');
    await this.allow('push_job_writers', 'anna');
  }

  /** These are all of its members. */
  async allow(group: string, ...users: string[]): Promise<void> {
    await this.auth.groups.put(this.org, group, { users, clients: [], groups: [] }, ME);
  }

  async identity(name: string): Promise<Identity> {
    const [found] = await this.auth.repository.candidates(this.org.id, name);
    if (found === undefined) throw new Error(`no ${name}`);
    const { principalId, type, serverAdmin } = found;
    return { principalId, type, name, serverAdmin, publicKey: null };
  }

  async queue(name: string): Promise<string> {
    const by = { identity: await this.identity('anna') };
    const asked = { name, plugin: 'p', threads: null, state: 'open', rules: {} } as const;
    return (await this.tasks.controller.createQueue(this.org, asked, by)).id;
  }

  /** One that adds a task to this queue at each full hour, unless it is said otherwise. */
  async schedule(queueId: string, given: Partial<NewSchedule> = {}): Promise<LiveSchedule> {
    const asked: NewSchedule = {
      name: 'nightly',
      cron: '@hourly',
      timezone: 'UTC',
      missed: 'run-once',
      overlap: 'allow',
      notDuring: [],
      blackout: 'skip',
      work: { kind: 'task', queueId, params: { what: 'all' }, options: {} },
      paused: false,
      ...given,
    };
    return this.schedules.administration.create(this.org, asked, { identity: await this.identity('anna') });
  }

  live(name = 'nightly'): LiveSchedule {
    const found = this.schedules.controller.find(this.org.id, name);
    if (found === undefined) throw new Error(`no schedule ${name}`);
    return found;
  }

  /** Ids of the tasks that there are, in their order. */
  async taskIds(): Promise<string[]> {
    const rows = await this.read.selectFrom('tasks').select('id').orderBy('id').execute();
    return rows.map(({ id }) => id);
  }

  async jobIds(): Promise<string[]> {
    const rows = await this.read.selectFrom('push_jobs').select('id').orderBy('created_at').orderBy('id').execute();
    return rows.map(({ id }) => id);
  }

  async row(name = 'nightly'): Promise<ScheduleRow> {
    return this.read.selectFrom('schedules').selectAll().where('name', '=', name).executeTakeFirstOrThrow();
  }

  /** What schedules told, shortly. */
  events(): string[] {
    return this.told
      .filter(({ type }) => type.startsWith('schedule.'))
      .map(({ type, data }) => {
        const { reason } = data as { reason?: string };
        return reason === undefined ? type.slice(9) : `${type.slice(9)}: ${reason}`;
      });
  }
}

export async function openScheduleFixture(): Promise<ScheduleFixture> {
  const fixture = new ScheduleFixture(await openTestStore());
  await fixture.start();
  await fixture.makeOrganization();
  return fixture;
}
