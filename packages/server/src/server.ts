import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type Clock, dataDirError, systemClock } from '@muster/base';
import type { Transport } from '@muster/nodes';
import { nodesRoutes } from '@muster/nodes/http';
import { nodeSockets } from '@muster/nodes/zmtp';
import { bootstrap, FIRST, type RandomBytes, systemRandom } from '@muster/platform/auth';
import type { ServerConfig } from '@muster/platform/config';
import { expiredCertificates, readTls } from '@muster/platform/config';
import { authRoutes } from '@muster/platform/directory';
import { createEventFabric } from '@muster/platform/events';
import type { App } from '@muster/platform/http';
import { createApp, EventStreams } from '@muster/platform/http';
import { Layers } from '@muster/platform/layers';
import { Metrics } from '@muster/platform/metrics';
import { createLogger } from '@muster/platform/upkeep';
import { pushRoutes } from '@muster/push/http';
import { lockDirectory, open, type Store } from '@muster/store';
import { createDisbatch } from '@muster/tasks/disbatch';
import { schedulesRoutes, taskRoutes } from '@muster/tasks/http';
import type { Logger } from 'pino';
import { compose, DECLARED } from './compose.js';
import { adminKeys, hasServerKey, serverKeys, writeCliSettings } from './data-dir.js';
import { MusterError } from './errors.js';
import { HttpLayer } from './http-layer.js';
import { ownUrl } from './own-url.js';
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
  /** Where clients of Disbatch connect; null: nowhere. */
  readonly disbatchUrl: string | null;
  /** Of this process; new at every start. */
  readonly incarnation: string;
  /** Settings for the CLI, as the first admin. */
  readonly cliConfigPath: string;
  /** Resolves (`server_failed`) when the server cannot go on; then it is to be stopped. */
  readonly failed: Promise<MusterError>;
  /** Takes no more requests, finishes those it has, stores everything, and lets go. */
  stop(): Promise<void>;
}

/**
 * Starts the whole server and resolves when it listens.
 * @throws MusterError `data_dir_in_use`, `data_dir_unusable`, `database_in_use`, `schema_too_new`, `address_in_use`, `invalid_configuration`,
 * `invalid_certificate`.
 */
export async function startServer(config: ServerConfig, options: ServerOptions = {}): Promise<RunningServer> {
  const layers = new Layers();
  try {
    return await start(config, options, layers);
  } catch (error) {
    // What was opened by halves may not close cleanly either; why it failed is what the reader needs.
    await layers.stop().catch(() => undefined);
    throw dataDirError(config.data_dir, error);
  }
}

async function start(config: ServerConfig, options: ServerOptions, layers: Layers): Promise<RunningServer> {
  const { clock = systemClock, random = systemRandom, print = printLine } = options;
  const logger = options.logger ?? createLogger(config.log_level);
  // All listeners, before anything is opened.
  for (const warning of expiredCertificates(config, clock.now())) logger.warn(warning);
  const tls = readTls(config, 'http');
  const lock = lockDirectory(config.data_dir);
  layers.add({ stop: async () => lock.release() });

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
  layers.add({ stop: () => store.close() });

  // First: it may fail, and what follows is running once it is made.
  const keys = await serverKeys(config.data_dir);
  const socketsFailed = (error: unknown): void => {
    logger.error({ err: error }, 'the command socket failed');
    fail('the command socket failed', error);
  };
  const incarnation = randomUUID();
  const composed = compose({
    store,
    clock,
    random,
    logger,
    metrics,
    config,
    incarnation,
    serverName: config.name ?? hostname(),
    serverKeys: keys,
    transport: options.transport ?? nodeSockets(config, { clock, failed: socketsFailed }),
  });
  const { base, events, auth, nodes, push, tasks, schedules } = composed;
  const fabric = createEventFabric({ ...base, logger, auth, events, families: DECLARED.families, version: VERSION });
  auth.listeners.add(fabric);
  const streams = new EventStreams({ clock, metrics });
  const startedAt = clock.now();
  const http = new HttpLayer({
    listen: config.http.listen,
    tls: tls !== undefined,
    streams,
    alongside: [fabric, schedules, push, tasks],
  });
  const disbatch = createDisbatch(base, { auth, controller: tasks.controller, logger });
  layers.add(...composed.layers, fabric, http, disbatch);

  await layers.load();
  const first = await bootstrap(auth, store, async () => (await adminKeys(config.data_dir)).publicKey);
  http.app = await createApp({
    auth,
    clock,
    logger,
    metrics,
    version: VERSION,
    bodyLimit: config.http.body_limit,
    minSigning: config.auth.min_signing,
    trustedProxies: config.http.trusted_proxies,
    routes: [
      pushRoutes(base, push, { auth, streams }),
      taskRoutes(base, tasks, { auth, streams }),
      schedulesRoutes(base, schedules, { auth, tasks }),
      nodesRoutes(nodes),
      (app) => fabric.routes(app),
      (app) => disbatch.routes(app),
      (app) => authRoutes(app, auth),
      ...(options.routes === undefined ? [] : [options.routes]),
    ],
    status: () => ({ incarnation, startedAt, now: clock.now(), store: store.health(), ...layers.status() }),
    refused: (organization, name, reason) => nodes.nodeRefused(organization, name, reason),
    ...(tls && { tls }),
    checkAnswers: options.checkAnswers === true,
  });
  fabric.attach(http.app.server);
  await layers.start();
  const { url } = http;
  const { url: stompUrl } = fabric;
  const { url: disbatchUrl } = disbatch;
  const settings = { ...ownUrl(url, config, tls?.cert), org: FIRST.organization, user: FIRST.user };
  const cliConfigPath = writeCliSettings(config.data_dir, settings);
  if (first) print(`First start: you are '${FIRST.user}'. Try: MUSTER_CONFIG=${cliConfigPath} muster node list`);
  logger.info(
    { url, stompUrl, ...(disbatchUrl !== null && { disbatchUrl }), incarnation, version: VERSION, store: store.kind },
    'muster server is up',
  );

  return {
    url,
    stompUrl,
    disbatchUrl,
    incarnation,
    cliConfigPath,
    failed,
    async stop() {
      await layers.stop();
      logger.info({ incarnation }, 'muster server has stopped');
    },
  };
}

function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** The server cannot go on: what failed, and why. The first time counts. */
type Fail = (what: string, cause: unknown) => void;

interface StoreParts {
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly fail: Fail;
}

function openStore(config: ServerConfig, parts: StoreParts): Promise<Store> {
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
