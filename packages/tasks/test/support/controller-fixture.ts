import type { ManualClock } from '@muster/base';
import { systemRandom } from '@muster/platform/auth';
import { type ServerConfig, ServerConfigSchema } from '@muster/platform/config';
import { Value } from 'typebox/value';
import { expect } from 'vitest';
import { openRecorder } from '../../../platform/test/support/recorder.js';
import { openTestStore, type TestStore } from '../../../platform/test/support/test-store.js';
import { createTaskController, type TaskControllerService } from '../../src/controller/controller.js';
import type { Acted, AskedRules, By, NewTask, TaskAction } from '../../src/ports.js';
import type { TaskRow } from '../../src/repository/writes.js';
import { NO_SECRETS } from '../../src/secrets/use.js';
import { ORG, PlayedNodes } from './played-nodes.js';

export const BY: By = { identity: { type: 'user', name: 'anna', principalId: 'p' } };

/** The controller on a real store, with nodes that are played. */
export class Fixture {
  nodes = new PlayedNodes();
  readonly clock: ManualClock;
  controller!: TaskControllerService;
  readonly config: ServerConfig;
  readonly #test: TestStore;

  constructor(test: TestStore) {
    this.#test = test;
    this.clock = test.clock;
    this.config = Value.Parse(ServerConfigSchema, Value.Default(ServerConfigSchema, {}));
  }

  get store() {
    return this.#test.store;
  }

  /** As a server starts, also again. */
  async start(): Promise<void> {
    const { store, clock } = this;
    const recorder = await openRecorder(store, clock);
    this.controller = createTaskController({
      store,
      recorder,
      clock,
      random: systemRandom,
      logger: {
        debug: () => undefined,
        info: () => undefined,
        warn: () => undefined,
        error: (details: object) => {
          throw new Error(`an error was logged: ${JSON.stringify(details)} ${(details as { err?: Error }).err?.stack}`);
        },
      },
      nodes: this.nodes,
      config: this.config,
      ended: () => undefined,
      secrets: NO_SECRETS,
    });
    await this.controller.load();
    this.controller.start();
  }

  async queue(
    name: string,
    also: { plugin?: string; threads?: number | null; rules?: AskedRules } = {},
  ): Promise<string> {
    const { plugin = 'p', threads = null, rules = {} } = also;
    const { id } = await this.controller.createQueue(ORG, { name, plugin, threads, state: 'open', rules }, BY);
    return id;
  }

  /** Adds so many tasks, or these. */
  async add(queue: string, tasks: number | readonly NewTask[]): Promise<string[]> {
    const list = typeof tasks === 'number' ? Array.from({ length: tasks }, (_, n) => ({ params: { n } })) : tasks;
    return (await this.controller.add(ORG, queue, list, BY)).map(({ id }) => id);
  }

  act(action: TaskAction, ...ids: string[]): Promise<readonly Acted[]> {
    return this.controller.act(ORG, ids, action, BY);
  }

  async row(id: string): Promise<TaskRow> {
    return this.store.read.selectFrom('tasks').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  }

  /** Once it is stored so. */
  async stands(id: string, as: Partial<TaskRow>): Promise<void> {
    await expect
      .poll(() => {
        // A timer that was set after the clock was moved may be due already.
        this.clock.advance(0);
        return this.row(id);
      })
      .toMatchObject(as);
  }

  async close(): Promise<void> {
    await this.controller.stop();
    await this.#test.close();
  }
}

export async function openFixture(): Promise<Fixture> {
  const test = await openTestStore();
  await test.store.transact((trx) =>
    trx
      .insertInto('organizations')
      .values({ ...ORG, created_at: 0 })
      .execute(),
  );
  const fixture = new Fixture(test);
  await fixture.start();
  return fixture;
}
