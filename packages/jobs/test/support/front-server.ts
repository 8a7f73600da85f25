import type { AddressInfo } from 'node:net';
import type { ManualClock } from '@muster/base';
import { type Broker, EmbeddedBroker } from '@muster/broker';
import { type Auth, createAuth, type Organization } from '@muster/platform/auth';
import { createApp, EventStreams } from '@muster/platform/http';
import type { Recorder } from '@muster/platform/log';
import { Metrics } from '@muster/platform/metrics';
import { SealingKey } from '@muster/platform/secrets';
import { firstServerKey, signRequest } from '@muster/signing';
import type { Store } from '@muster/store';
import { pino } from 'pino';
import { DECLARED } from '../../../platform/test/support/layers.js';
import { ME } from '../../../platform/test/support/personas.js';
import { openRecorder } from '../../../platform/test/support/recorder.js';
import { openTestStore, type TestStore } from '../../../platform/test/support/test-store.js';
import { madeKey } from '../../../signing/test/support/made-keys.js';
import { readApp } from '../../src/apps/definition.js';
import type { App } from '../../src/apps/types.js';
import { Acceptance } from '../../src/controller/acceptance.js';
import { AGAVE_ABSENT, AGAVE_ERRORS, jobAdminRoutes, jobRoutes } from '../../src/http.js';
import { JobStore } from '../../src/repository/job-store.js';
import { LocalFiles } from '../../src/systems/local/files.js';
import type { OpenSystem, System, Systems } from '../../src/systems/types.js';
import { LivingWorkers } from '../../src/worker/living-workers.js';
import { WC } from './apps.js';

/** The front of jobs over a real store, a real gate and the embedded broker. What it takes of apps and systems is said by the test. */

export interface FrontRequest {
  readonly method?: string;
  /** Below `/organizations/default/jobs/v2`. */
  readonly path?: string;
  /** The whole path, in its place. */
  readonly at?: string;
  /** Sent as JSON, or as it is. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Name of the user; `jdoe` unless given. */
  readonly as?: string;
}

export interface FrontAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: what it is depends on the route, which is what is tested
  readonly body: any;
  // biome-ignore lint/suspicious/noExplicitAny: as body
  readonly result: any;
  readonly message: string;
}

export interface FrontServer {
  readonly test: TestStore;
  readonly store: Store;
  readonly recorder: Recorder;
  readonly clock: ManualClock;
  readonly auth: Auth;
  readonly org: Organization;
  readonly broker: Broker;
  readonly jobs: JobStore;
  readonly apps: Map<string, App>;
  readonly systems: Map<string, System>;
  readonly url: string;
  send(request: FrontRequest): Promise<FrontAnswer>;
  /** The same, whose answer is not read. */
  open(request: FrontRequest): Promise<Response>;
  /** Makes a token of this user. */
  token(name: string): Promise<string>;
  /** The same, which must be good; its result. */
  // biome-ignore lint/suspicious/noExplicitAny: as FrontAnswer
  get(path: string, as?: string): Promise<any>;
  /** A job of `wc-1.0`, but for what is given. */
  // biome-ignore lint/suspicious/noExplicitAny: as FrontAnswer
  submit(given?: Readonly<Record<string, unknown>>, as?: string): Promise<any>;
  close(): Promise<void>;
}

export const SUBMISSION = {
  name: 'demo',
  appId: 'wc-1.0',
  archive: false,
  inputs: { query1: 'in/a.txt' },
} as const;

export const HERE: System = {
  id: '1',
  uuid: '1-006',
  orgId: 'x',
  name: 'here',
  type: 'ssh',
  scheduler: 'slurm',
  root: '/srv',
  scratch: 'scratch',
  queues: [
    { name: 'normal', default: true, maxNodes: 4, maxProcessorsPerNode: 16, maxMemoryMb: 65_536, maxSeconds: 86_400 },
    { name: 'long', maxNodes: 2, maxProcessorsPerNode: 16, maxMemoryMb: 65_536, maxSeconds: 604_800 },
    { name: 'wide', maxNodes: 100 },
  ],
  enabled: true,
  default: false,
  owner: 'admin',
} as System;

export const STORE = {
  ...HERE,
  id: '2',
  uuid: '2-006',
  name: 'store',
  type: 'local',
  scheduler: 'fork',
  queues: [],
  default: true,
} as System;

export function wc(given: Partial<App> = {}): App {
  return {
    ...readApp(WC),
    uuid: 'a1-005',
    orgId: 'x',
    owner: 'admin',
    revision: 1,
    created: 0,
    lastUpdated: 0,
    ...given,
  };
}

const keys = madeKey(0);
const MEMBERS = ['admin', 'jdoe', 'anna', 'bob'];

export interface FrontOptions {
  readonly opened?: Pick<Systems, 'open'>;
  /** In the place of the embedded broker. */
  readonly broker?: (own: Broker) => Broker;
}

export async function startFront(options: FrontOptions = {}): Promise<FrontServer> {
  const test = await openTestStore();
  const { store, clock } = test;
  clock.advance(Date.UTC(2026, 10, 22, 18, 30) - clock.now());
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
  await auth.organizations.create('other', ME);
  for (const name of MEMBERS) {
    const groups = name === 'admin' ? ['admins'] : [];
    const user = { name, publicKey: keys.publicKey, serverAdmin: false, organization: org, groups };
    await auth.principals.createUser(user, ME);
  }
  await auth.groups.put(org, 'admins', { users: ['admin'], clients: [], groups: [] }, ME);
  const own = await EmbeddedBroker.open({ store, clock, log: logger, holder: 'test' });
  const broker = options.broker?.(own) ?? own;
  let last = 0;
  const nextId = () => String(++last).padStart(12, '0');
  const jobs = new JobStore({ store, recorder, clock, nextId });
  const apps = new Map([['wc-1.0', wc()]]);
  const systems = new Map([
    ['here', HERE],
    ['store', STORE],
  ]);
  const acceptance = new Acceptance({
    ...{ store, jobs, broker, clock, random, logger },
    apps: { find: (_, id) => apps.get(id) ?? null },
    systems: {
      find: (_, name) => systems.get(name) ?? null,
      defaultOf: () => [...systems.values()].find((system) => system.default) ?? null,
    },
    queues: { choose: () => 'aloe.jobq.default.submit.DefaultQueue' },
  });
  const metrics = new Metrics();
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
    bodyLimit: 1_000_000,
    errorShapes: [AGAVE_ERRORS, AGAVE_ABSENT],
    routes: [
      jobRoutes({
        auth,
        store,
        jobs,
        broker,
        clock,
        random,
        logger,
        acceptance,
        opened: options.opened ?? { open: async (_, name) => opened(systems.get(name) ?? HERE) },
        recorder,
        streams,
        keepaliveMs: 15_000,
      }),
      jobAdminRoutes({
        store,
        recorder,
        broker,
        auth,
        clock,
        livingWorkers: new LivingWorkers({ store, clock }),
        privateTargets: false,
        sendsMail: false,
      }),
    ],
    checkAnswers: true,
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;

  const open: FrontServer['open'] = ({ method = 'GET', path: below = '', at, body: given, as = 'jdoe', headers }) => {
    // As it is sent, and so as it is signed.
    const { pathname, search } = new URL(url + (at ?? `/organizations/default/jobs/v2${below}`));
    const path = pathname + search;
    const body = given === undefined ? '' : typeof given === 'string' ? given : JSON.stringify(given);
    const signing = { method, path, body, userId: as, timestamp: clock.now(), privateKey: keys.privateKey };
    return fetch(url + path, {
      method,
      headers: {
        ...signRequest({ ...signing, version: '1.3', signQuery: true }),
        ...(body !== '' && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== '' && { body }),
    });
  };
  const send: FrontServer['send'] = async (request) => {
    const response = await open(request);
    const text = await response.text();
    const json = response.headers.get('content-type')?.startsWith('application/json') === true && text !== '';
    const read = json ? JSON.parse(text) : undefined;
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: read,
      result: read?.result,
      message: String(read?.message),
    };
  };
  const good = async (request: FrontRequest) => {
    const answer = await send(request);
    if (answer.status >= 300) throw new Error(`${request.method} ${request.path}: ${answer.status} ${answer.text}`);
    return answer.result;
  };
  return {
    test,
    store,
    recorder,
    clock,
    auth,
    org,
    broker,
    jobs,
    apps,
    systems,
    url,
    send,
    open,
    token: async (name) => {
      const bearer = { organization: null, name };
      return (await auth.tokens.createAccessToken({ bearer, ttlSeconds: 3600 }, ME)).token;
    },
    get: (path, as) => good({ path, ...(as !== undefined && { as }) }),
    submit: (body, as) => good({ method: 'POST', body: { ...SUBMISSION, ...body }, ...(as !== undefined && { as }) }),
    close: async () => {
      streams.shutdown();
      await app.close();
      await own.close();
      await test.close();
    },
  };
}

/** Its files are those of this machine. */
function opened(system: System): OpenSystem {
  return { system, connection: { files: new LocalFiles(system) } } as unknown as OpenSystem;
}
