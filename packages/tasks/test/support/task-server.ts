import type { AddressInfo } from 'node:net';
import type { NodeRegistry } from '@muster/nodes';
import { type Auth, createAuth, type Organization } from '@muster/platform/auth';
import { ServerConfigSchema } from '@muster/platform/config';
import { createApp, EventStreams } from '@muster/platform/http';
import type { Base } from '@muster/platform/layers';
import { Metrics } from '@muster/platform/metrics';
import { SealingKey, Secrets } from '@muster/platform/secrets';
import { createPush, createRunbooks, type Push } from '@muster/push';
import { pushRoutes, runbooksRoutes } from '@muster/push/http';
import { firstServerKey, signRequest } from '@muster/signing';
import { pino } from 'pino';
import { Value } from 'typebox/value';
import { DECLARED } from '../../../platform/test/support/layers.js';
import { noProviders } from '../../../platform/test/support/no-providers.js';
import { ME } from '../../../platform/test/support/personas.js';
import { openRecorder } from '../../../platform/test/support/recorder.js';
import { madeKey } from '../../../signing/test/support/made-keys.js';
import { createBulk } from '../../src/bulk/layer.js';
import { createDisbatch } from '../../src/disbatch/index.js';
import { schedulesRoutes, taskRoutes } from '../../src/http.js';
import { createTasks, type Tasks } from '../../src/layer.js';
import { createSchedules, type Schedules } from '../../src/schedules/layer.js';
import { taskSecrets } from '../../src/secrets/use.js';
import { openTaskStore, type TaskStore } from './task-rows.js';

/** The HTTP side of queues and tasks, with a real store, gate and log. */

export interface TaskRequest {
  readonly method?: string;
  readonly path: string;
  /** Sent as JSON, or as it is when it is a string. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Name of the user; an admin unless given. */
  readonly as?: string;
  /** In the place of a signature. */
  readonly token?: string;
  readonly signal?: AbortSignal;
}

export interface TaskServer {
  readonly test: TaskStore;
  readonly auth: Auth;
  readonly org: Organization;
  readonly base: Base;
  readonly tasks: Tasks;
  readonly schedules: Schedules;
  readonly push: Push;
  readonly secrets: Secrets;
  readonly url: string;
  /** Of every user, PEM. */
  readonly privateKey: string;
  /** A request below /organizations/default. */
  send(request: TaskRequest): Promise<Response>;
  /** The same, of which only the answer is wanted; it must be good. */
  json<T = Record<string, unknown>>(request: TaskRequest): Promise<T>;
  /** Makes a token of this user. */
  token(name: string): Promise<string>;
  close(): Promise<void>;
}

/** Nothing runs where what is tested is what people see and do. */
const NO_NODES: NodeRegistry = {
  get: () => undefined,
  list: () => [],
  all: () => [],
  attributes: () => ({}),
  send: () => undefined,
  reach: () => [],
  persist: async () => true,
  listen: () => undefined,
  show: () => undefined,
};

const keys = madeKey(0);
const MEMBERS = ['admin', 'alice', 'bob', 'carol'];

export async function startTaskServer(
  settings: Record<string, unknown> = {},
  nodes: NodeRegistry = NO_NODES,
): Promise<TaskServer> {
  const test = await openTaskStore();
  const { store, clock } = test;
  const config = Value.Parse(ServerConfigSchema, Value.Default(ServerConfigSchema, settings));
  const metrics = new Metrics();
  const logger = pino({ level: 'silent' });
  const recorder = await openRecorder(store, clock);
  const failed = (error: unknown) => {
    throw error;
  };
  const random = (size: number) => crypto.getRandomValues(new Uint8Array(size));
  const auth = createAuth({
    store,
    recorder,
    clock,
    random,
    selection: { select: () => [], check: () => undefined },
    serverKeys: firstServerKey(keys),
    sealing: SealingKey.of(new Uint8Array(32)),
    auditFailed: failed,
    rights: DECLARED.rights,
    incarnation: 'test',
    standingFailed: failed,
  });
  const org = await auth.organizations.create('default', ME);
  for (const name of MEMBERS) {
    const groups = name === 'admin' ? ['admins'] : [];
    await auth.principals.createUser(
      { name, publicKey: keys.publicKey, serverAdmin: false, organization: org, groups },
      ME,
    );
  }
  await auth.groups.put(org, 'admins', { users: ['admin'], clients: [], groups: [] }, ME);
  const base: Base = {
    store,
    recorder,
    clock,
    logger,
    metrics,
    config,
    incarnation: 'test',
    serverName: 'test',
    random,
  };
  const secrets = new Secrets({ store, auth, key: SealingKey.of(new Uint8Array(32)), providers: noProviders() });
  const tasks = createTasks(base, { nodes, secrets: taskSecrets(secrets, auth) });
  const bulk = createBulk(base, { auth, tasks });
  const push = createPush(base, { nodes, secrets });
  const runbooks = createRunbooks(base, { auth, push });
  const schedules = createSchedules(base, { auth, push, tasks, runbooks });
  for (const layer of [push, tasks, bulk, schedules]) await layer.load();
  for (const layer of [push, tasks, bulk, schedules]) layer.start();
  const disbatch = createDisbatch(base, { auth, controller: tasks.controller, logger });
  const streams = new EventStreams({ clock, metrics });
  const app = await createApp({
    auth,
    clock,
    logger,
    metrics,
    status: () => ({
      incarnation: 'test',
      startedAt: 0,
      now: clock.now(),
      store: { ok: true },
      nodes: 0,
      jobs: [],
      eventClients: 0,
    }),
    version: '0',
    bodyLimit: config.http.body_limit,
    routes: [
      pushRoutes(base, push, { auth, streams, runbooks }),
      runbooksRoutes(runbooks, { auth }),
      taskRoutes(base, tasks, { auth, streams, secrets, bulk }),
      schedulesRoutes(base, schedules, { auth, tasks }),
      disbatch.routes,
    ],
    checkAnswers: true,
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;

  const send: TaskServer['send'] = ({ method = 'GET', path: below, body: given, as = 'admin', token, ...rest }) => {
    const path = `/organizations/default/${below}`;
    const body = given === undefined ? '' : typeof given === 'string' ? given : JSON.stringify(given);
    const timestamp = clock.now();
    const signing = { method, path, body, userId: as, timestamp, privateKey: keys.privateKey };
    const proof =
      token === undefined
        ? signRequest({ ...signing, version: '1.3', signQuery: true })
        : { authorization: `Bearer ${token}` };
    return fetch(url + path, {
      method,
      headers: { ...proof, ...(body === '' ? {} : { 'content-type': 'application/json' }), ...rest.headers },
      ...(body !== '' && { body }),
      ...(rest.signal !== undefined && { signal: rest.signal }),
    });
  };
  return {
    test,
    auth,
    org,
    base,
    tasks,
    schedules,
    push,
    secrets,
    url,
    privateKey: keys.privateKey,
    send,
    json: async <T>(request: TaskRequest) => {
      const response = await send(request);
      const text = await response.text();
      if (!response.ok) throw new Error(`${request.path}: ${response.status} ${text}`);
      return JSON.parse(text) as T;
    },
    token: async (name) => {
      const bearer = { organization: null, name };
      return (await auth.tokens.createAccessToken({ bearer, ttlSeconds: 3600 }, ME)).token;
    },
    close: async () => {
      for (const layer of [schedules, bulk, tasks, push]) await layer.stop();
      streams.shutdown();
      await app.close();
      await test.close();
    },
  };
}
