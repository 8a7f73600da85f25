import type { AddressInfo } from 'node:net';
import { createAuth, type Organization } from '@muster/platform/auth';
import { type App, createApp } from '@muster/platform/http';
import { Metrics } from '@muster/platform/metrics';
import { SealingKey } from '@muster/platform/secrets';
import { firstServerKey, signRequest } from '@muster/signing';
import { pino } from 'pino';
import { DECLARED } from '../../../platform/test/support/layers.js';
import { ME } from '../../../platform/test/support/personas.js';
import { openRecorder } from '../../../platform/test/support/recorder.js';
import { madeKey } from '../../../signing/test/support/made-keys.js';
import { appRoutes } from '../../src/apps/routes.js';
import { AGAVE_ERRORS } from '../../src/http.js';
import { queueRoutes } from '../../src/routing/routes.js';
import { serveSessions, sessionRoutes } from '../../src/systems/agent/session-routes.js';
import type { AgentSessions } from '../../src/systems/agent/sessions.js';
import type { WorkerConnections } from '../../src/systems/agent/worker-connections.js';
import { workerConnectionRoutes } from '../../src/systems/agent/worker-routes.js';
import { systemRoutes } from '../../src/systems/routes.js';
import { LivingWorkers } from '../../src/worker/living-workers.js';
import { openCatalog } from './catalog.js';

export interface CatalogRequest {
  readonly method?: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Who signs; null: nobody. */
  readonly as?: string | null;
}

const keys = madeKey(0);

/** Apps, systems and job queues over HTTP, with a real store, gate and broker: `root` administers the server, `admin` jobs. */
export async function startCatalog(
  nodes?: { readonly sessions: AgentSessions; readonly workers: WorkerConnections },
  tls?: { readonly cert: string; readonly key: string },
) {
  const catalog = await openCatalog();
  const { store, clock, broker, apps, systems, queues } = catalog;
  const logger = pino({ level: 'silent' });
  const failed = (error: unknown) => {
    throw error;
  };
  const auth = createAuth({
    store,
    recorder: await openRecorder(store, clock),
    clock,
    random: (size) => crypto.getRandomValues(new Uint8Array(size)),
    selection: { select: () => [], check: () => undefined },
    serverKeys: firstServerKey(keys),
    sealing: SealingKey.of(new Uint8Array(32)),
    auditFailed: failed,
    rights: DECLARED.rights,
    incarnation: 'test',
    standingFailed: failed,
  });
  const org: Organization = await auth.organizations.create('acme', ME);
  const other: Organization = await auth.organizations.create('other', ME);
  for (const name of ['root', 'admin', 'jdoe', 'anna']) {
    const groups = name === 'root' || name === 'admin' ? ['admins'] : [];
    const user = { name, publicKey: keys.publicKey, serverAdmin: name === 'root', organization: org, groups };
    await auth.principals.createUser(user, ME);
  }
  await auth.organizations.addMember(other, 'anna', ME);
  for (const name of ['web1', 'web2']) {
    await auth.principals.createClient(org, { type: 'node', name, publicKey: keys.publicKey }, ME);
  }
  const livingWorkers = new LivingWorkers({ store, clock });
  const deps = { auth, apps, systems, queues, broker, clock, read: store.read, livingWorkers };
  const app = await createApp({
    auth,
    clock,
    logger,
    metrics: new Metrics(),
    status: () => ({
      ...{ incarnation: 'test', startedAt: 0, now: clock.now(), store: { ok: true } as const },
      ...{ nodes: 0, jobs: [], eventClients: 0 },
    }),
    version: '0',
    bodyLimit: 1_000_000,
    errorShapes: [AGAVE_ERRORS],
    routes: [
      ...[appRoutes, systemRoutes, queueRoutes].map((routes) => (http: App) => routes(http, deps)),
      (http) => nodes !== undefined && sessionRoutes(http, { auth, sessions: nodes.sessions }),
      (http) => nodes !== undefined && workerConnectionRoutes(http, nodes.workers),
    ],
    checkAnswers: true,
    ...(tls && { tls }),
  });
  if (nodes !== undefined) serveSessions(app, nodes.sessions, nodes.workers);
  await app.listen({ host: '127.0.0.1', port: 0 });
  const url = `http${tls === undefined ? '' : 's'}://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const send = async ({ method = 'GET', path, body: given, as = 'admin', headers }: CatalogRequest) => {
    const body = given === undefined ? '' : typeof given === 'string' ? given : JSON.stringify(given);
    const signing = { method, path, body, userId: as ?? '', timestamp: clock.now(), privateKey: keys.privateKey };
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(as !== null && signRequest({ ...signing, version: '1.3', signQuery: true })),
        ...(body !== '' && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== '' && { body }),
    });
    const text = await response.text();
    // biome-ignore lint/suspicious/noExplicitAny: what it is depends on the route, which is what is tested
    const json: any = text === '' ? undefined : JSON.parse(text);
    return { status: response.status, headers: response.headers, text, json, result: json?.result };
  };
  return {
    catalog,
    auth,
    org,
    other,
    clock,
    url,
    send,
    /** Whether other processes could use the same database. */
    shared: store.kind === 'postgres',
    /** Of all users, PEM. */
    privateKey: keys.privateKey,
    /** Makes a token of this user. */
    async token(name: string): Promise<string> {
      const bearer = { organization: null, name };
      return (await auth.tokens.createAccessToken({ bearer, ttlSeconds: 3600 }, ME)).token;
    },
    async close() {
      await app.close();
      await auth.stop();
      await catalog.close();
    },
  };
}

export type CatalogServer = Awaited<ReturnType<typeof startCatalog>>;
