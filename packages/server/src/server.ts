import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type Clock, dataDirError, systemClock } from '@muster/base';
import type { Transport } from '@muster/nodes';
import { createNodes, type Nodes, searchNodes } from '@muster/nodes';
import {
  type Auth,
  actorOf,
  bootstrap,
  createAuth,
  FIRST,
  type RandomBytes,
  systemRandom,
} from '@muster/platform/auth';
import type { ServerConfig } from '@muster/platform/config';
import { expiredCertificates, readTls } from '@muster/platform/config';
import { authRoutes } from '@muster/platform/directory';
import { createEventFabric, type EventFabric } from '@muster/platform/events';
import type { App } from '@muster/platform/http';
import { createApp, EventStreams, HTTP_LIMITS, listen } from '@muster/platform/http';
import { together } from '@muster/platform/layers';
import { createEvents, type Events } from '@muster/platform/log';
import { Metrics } from '@muster/platform/metrics';
import { createLogger } from '@muster/platform/upkeep';
import { createPush, type Push, pushAccess } from '@muster/push';
import { lockDirectory, open, type Store } from '@muster/store';
import type { Logger } from 'pino';
import { adminKeys, hasServerKey, serverKeys, writeCliSettings } from './data-dir.js';
import { MusterError } from './errors.js';
import { LAYERS } from './layers.js';
import { VERSION } from './version.js';

export interface ServerOptions {
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly random?: RandomBytes;
  /** Takes the one line for the person who starts the server for the first time. */
  readonly print?: (line: string) => void;
  /** Further routes, for tests. */
  readonly routes?: (app: App) => void;
  /** In the place of ZeroMQ, for the simulator. */
  readonly transport?: Transport;
  /** Answers that do not fit their schema fail, for tests. */
  readonly checkAnswers?: boolean;
}

export interface RunningServer {
  readonly url: string;
  /** Where event clients and relays connect. */
  readonly stompUrl: string;
  /** Of this process; new at every start. */
  readonly incarnation: string;
  /** Settings for the CLI, as the first admin. */
  readonly cliConfigPath: string;
  /** Resolves (`server_failed`) when the server cannot go on; then it is to be stopped. */
  readonly failed: Promise<MusterError>;
  /** Takes no more requests, finishes those it has, stores everything, and lets go. */
  stop(): Promise<void>;
}

/** Undoes what was opened, last first, also when one step fails. */
class Teardown {
  readonly #steps: (() => void | Promise<void>)[] = [];
  #running: Promise<void> | undefined;

  add(step: () => void | Promise<void>): void {
    this.#steps.push(step);
  }

  run(): Promise<void> {
    this.#running ??= this.#run();
    return this.#running;
  }

  async #run(): Promise<void> {
    const failures: unknown[] = [];
    for (const step of this.#steps.reverse()) {
      try {
        await step();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'the server did not stop cleanly');
  }
}

/**
 * Starts the whole server and resolves when it listens.
 * @throws MusterError `data_dir_in_use`, `data_dir_unusable`, `database_in_use`, `schema_too_new`, `address_in_use`, `invalid_configuration`,
 * `invalid_certificate`.
 */
export async function startServer(config: ServerConfig, options: ServerOptions = {}): Promise<RunningServer> {
  const teardown = new Teardown();
  try {
    return await start(config, options, teardown);
  } catch (error) {
    // What was opened by halves may not close cleanly either; why it failed is what the reader needs.
    await teardown.run().catch(() => undefined);
    throw dataDirError(config.data_dir, error);
  }
}

async function start(config: ServerConfig, options: ServerOptions, teardown: Teardown): Promise<RunningServer> {
  const { clock = systemClock, random = systemRandom, print = printLine } = options;
  const logger = options.logger ?? createLogger(config.log_level);
  // All listeners, before anything is opened.
  for (const warning of expiredCertificates(config, clock.now())) logger.warn(warning);
  const tls = readTls(config, 'http');
  const lock = lockDirectory(config.data_dir);
  teardown.add(() => lock.release());

  const metrics = new Metrics();
  metrics.collectProcess();
  let fail: Fail = () => undefined;
  const failed = new Promise<MusterError>((resolve) => {
    fail = (what, cause) => {
      const reason = `${what} (${cause instanceof Error ? cause.message : String(cause)})`;
      resolve(new MusterError('server_failed', { reason }, { cause }));
    };
  });
  const store = await openStore(config, { clock, logger, random, metrics, fail });
  teardown.add(() => store.close());

  const incarnation = randomUUID();
  const composed: Composed = { clock, random, logger, metrics, store, incarnation, fail };
  const { auth, events, fabric, nodes, push, streams } = await compose(config, options, composed);
  teardown.add(() => events.stop());
  teardown.add(() => auth.standing.stop());
  teardown.add(() => auth.remnants.stop());
  // Here for a start that fails before anybody could connect; of a server that ran, it is stopped before HTTP is.
  teardown.add(() => fabric.stop());
  const first = await bootstrap(auth, store, async () => (await adminKeys(config.data_dir)).publicKey);

  events.start();
  auth.remnants.start();
  await nodes.load();
  teardown.add(() => nodes.stop());
  teardown.add(() => push.stop());
  await push.start();
  const startedAt = clock.now();
  const app = await createApp({
    auth,
    clock,
    logger,
    metrics,
    version: VERSION,
    bodyLimit: config.http.body_limit,
    minSigning: config.auth.min_signing,
    trustedProxies: config.http.trusted_proxies,
    routes: [
      (scope) => push.routes(scope),
      (scope) => nodes.routes(scope),
      (scope) => fabric.routes(scope),
      (scope) => authRoutes(scope, auth),
      ...(options.routes === undefined ? [] : [options.routes]),
    ],
    status: () => ({
      incarnation,
      startedAt,
      now: clock.now(),
      store: store.health(),
      nodes: nodes.upCount(),
      jobs: push.controller.liveJobs(),
      eventClients: fabric.clientCount(),
    }),
    refused: (organization, name, reason) => nodes.nodeRefused(organization, name, reason),
    ...(tls && { tls }),
    checkAnswers: options.checkAnswers === true,
  });
  teardown.add(() => close(app, push, streams));
  fabric.attach(app.server);
  teardown.add(() => fabric.stop());
  await nodes.start();
  const stompUrl = await fabric.listen();
  const url = await listen(app, config.http.listen, tls !== undefined);
  const cliConfigPath = writeCliSettings(config.data_dir, { url, org: FIRST.organization, user: FIRST.user });
  if (first) print(`First start: you are '${FIRST.user}'. Try: MUSTER_CONFIG=${cliConfigPath} muster node list`);
  logger.info({ url, stompUrl, incarnation, version: VERSION, store: store.kind }, 'muster server is up');

  return {
    url,
    stompUrl,
    incarnation,
    cliConfigPath,
    failed,
    async stop() {
      await teardown.run();
      logger.info({ incarnation }, 'muster server has stopped');
    },
  };
}

function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}

interface Composed {
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly store: Store;
  readonly incarnation: string;
  readonly fail: Fail;
}

/** The server cannot go on: what failed, and why. The first time counts. */
type Fail = (what: string, cause: unknown) => void;

const DECLARED = together(LAYERS);

function openStore(config: ServerConfig, parts: Omit<Composed, 'store' | 'incarnation'>): Promise<Store> {
  const { clock, logger, random, metrics, fail } = parts;
  const commits = metrics.histogram(
    'muster_store_commit_seconds',
    'Group commits',
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1],
  );
  const rows = metrics.counter('muster_store_rows_total', 'Rows stored by group commits');
  const url = config.database_url;
  const location =
    url === undefined
      ? ({ kind: 'sqlite', path: join(config.data_dir, 'muster.db') } as const)
      : ({ kind: 'postgres', url } as const);
  return open(location, {
    migrations: DECLARED.migrations,
    clock,
    random,
    established: hasServerKey(config.data_dir),
    log: logger,
    observe: (report) => {
      commits.observe(report.durationMs / 1000);
      rows.inc(report.rows);
    },
    refused: (error) => fail('the database refuses a change of state for good', error),
  });
}

interface Layers {
  readonly auth: Auth;
  readonly events: Events;
  readonly fabric: EventFabric;
  readonly nodes: Nodes;
  readonly push: Push;
  readonly streams: EventStreams;
}

/** The layers, each knowing only those below; what a lower one needs of a higher one comes in as a function. */
async function compose(
  config: ServerConfig,
  options: ServerOptions,
  { clock, random, logger, metrics, store, incarnation, fail }: Composed,
): Promise<Layers> {
  // First: it may fail, and what follows is running once it is made.
  const keys = await serverKeys(config.data_dir);
  const organizationId = async (name: string) => (await auth.repository.organization(name))?.id;
  const events = createEvents({ store, clock, logger, config, organizationId, openSubjects: DECLARED.openSubjects });
  await events.load();
  const { recorder } = events;
  const auth: Auth = createAuth({
    store,
    recorder,
    clock,
    random,
    auditFailed: (error) => logger.error({ err: error }, 'an audit entry was not stored'),
    rights: DECLARED.rights,
    organizationRows: DECLARED.organizationRows,
    remnantsFailed: (error) =>
      logger.warn({ err: error }, 'what is left of deleted organizations could not be deleted'),
    standingFailed: (error) =>
      logger.warn({ err: error }, 'rights of open streams could not be looked at after a change'),
    selection: {
      check: (query) => void searchNodes(nodes.registry, [], query),
      *select(orgId, query) {
        for (const node of searchNodes(nodes.registry, nodes.registry.list(orgId), query)) yield node.name;
      },
    },
    nodes: {
      created: (organization, node) => nodes.nodeCreated(organization, node),
      keyRemoved: (organization, node, fingerprint) => nodes.keyRemoved(organization, node, fingerprint),
      async organizationRemoved(orgId) {
        fabric.organizationRemoved(orgId);
        await nodes.organizationRemoved(orgId);
      },
    },
  });
  const serverName = config.name ?? hostname();
  const fabric = createEventFabric({
    store,
    clock,
    logger,
    metrics,
    random,
    config,
    auth,
    events,
    families: DECLARED.families,
    serverName,
    version: VERSION,
  });
  const nodes: Nodes = createNodes({
    store,
    recorder,
    clock,
    logger,
    metrics,
    config,
    serverName,
    incarnation,
    serverKeys: keys,
    removeIdentity: (org, name, by) => auth.principals.forgetNode(org.id, name, actorOf(by)),
    failed: (error) => fail('the command socket failed', error),
    ...(options.transport && { transport: options.transport }),
  });
  const streams = new EventStreams({ clock, metrics });
  const push = createPush({
    store,
    recorder,
    clock,
    logger,
    metrics,
    config,
    nodes: nodes.registry,
    incarnation,
    streams,
    audit: auth.audit,
    access: pushAccess(auth),
    random,
  });
  return { auth, events, fabric, nodes, push, streams };
}

/** Streams never end by themselves, so they go first; then whoever is being answered has a while to hear the rest. */
async function close(app: App, push: Push, streams: EventStreams): Promise<void> {
  streams.shutdown();
  const deadline = systemClock.after(HTTP_LIMITS.drainMs, () => app.server.closeAllConnections());
  try {
    await Promise.all([app.close(), push.stop()]);
  } finally {
    deadline.cancel();
  }
}
