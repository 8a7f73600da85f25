import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { type Clock, dataDirError, systemClock } from '@muster/base';
import { VERSION } from '@muster/base/version';
import { AgentSessions, createJobs, createTaskRunner, gaveUp, type Jobs, WorkerConnections } from '@muster/jobs';
import {
  AGAVE_ABSENT,
  AGAVE_ERRORS,
  allJobRoutes,
  jobFinder,
  serveSessions,
  sessionRoutes,
  workerConnectionRoutes,
} from '@muster/jobs/http';
import { FrontedTransport, LocalPeers, type Transport } from '@muster/nodes';
import { nodeFinder, nodesRoutes, sshNodeRoutes } from '@muster/nodes/http';
import { nodeSockets } from '@muster/nodes/zmtp';
import {
  type Auth,
  auditHeadsIn,
  bootstrap,
  DirectorySync,
  FIRST,
  type RandomBytes,
  systemRandom,
} from '@muster/platform/auth';
import { clusterRoutes, sharedKeyFiles } from '@muster/platform/cluster';
import type { ServerConfig } from '@muster/platform/config';
import { certificateEnds, expiredCertificates, readTls } from '@muster/platform/config';
import { countRoutes, EventCounts } from '@muster/platform/counts';
import { authRoutes } from '@muster/platform/directory';
import { createEventFabric } from '@muster/platform/events';
import { findRoutes, peopleFinders } from '@muster/platform/finding';
import type { App } from '@muster/platform/http';
import { createApp, EventStreams } from '@muster/platform/http';
import { Layers } from '@muster/platform/layers';
import { Metrics } from '@muster/platform/metrics';
import { createNotifications } from '@muster/platform/notifications';
import { openFormerKey, openSealingKey, type Secrets, secretRoutes } from '@muster/platform/secrets';
import { keyFilesIn, RotatingServerKey, ServerKeyRotation, serverKeyRoutes } from '@muster/platform/server-key';
import { createLogger } from '@muster/platform/upkeep';
import { rekeyRuns } from '@muster/push';
import { pushFinders, pushRoutes, runbooksRoutes } from '@muster/push/http';
import { createRules } from '@muster/rules';
import { ruleFinder, rulesRoutes } from '@muster/rules/http';
import type { KeyPair } from '@muster/signing';
import { Leases, lockDirectory, type Store } from '@muster/store';
import { createDisbatch } from '@muster/tasks/disbatch';
import { schedulesRoutes, taskFinders, taskRoutes } from '@muster/tasks/http';
import type { Logger } from 'pino';
import { openBroker } from './broker.js';
import { countLead, countServers, type Leading, servePassedOn, watchServers } from './cluster/leading.js';
import { compose, DECLARED } from './compose.js';
import { builtConsole, readConsole } from './console/files.js';
import { consoleRoutes } from './console/routes.js';
import { adminKeys, writeCliSettings } from './data-dir.js';
import type { MusterError } from './errors.js';
import { failing } from './failing.js';
import { HttpLayer, inTurn } from './http-layer.js';
import { advertisedUrl, fingerprintOf, ownUrl } from './own-url.js';
import { createSshNodes } from './ssh-nodes/hosts.js';
import { openStore } from './store.js';

export interface ServerOptions {
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly random?: RandomBytes;
  /** Takes the one line for the person who starts the server for the first time. */
  readonly print?: (line: string) => void;
  /** Further routes, for tests. */
  readonly routes?: (app: App) => void;
  /** Where the web console was built, when it is elsewhere; for tests. */
  readonly consoleDirectory?: URL;
  /** In the place of ZeroMQ, for the simulator. */
  readonly transport?: Transport;
  /** Makes its keys; for tests, which have made some. */
  readonly newKey?: () => Promise<KeyPair>;
  /** Answers that do not fit their schema fail, for tests. */
  readonly checkAnswers?: boolean;
  /** It leads a cluster; alone when absent. */
  readonly leading?: Leading;
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

/** With another key than before: nothing that the former one sealed is left when the server listens. @throws MusterError `secret_key_unusable`, `secret_unreadable` */
async function rekey(
  config: ServerConfig,
  {
    store,
    secrets,
    systems,
    issuers,
    logger,
  }: {
    readonly store: Store;
    readonly secrets: Secrets;
    readonly systems: Jobs['systems'];
    readonly issuers: Auth['issuerSecrets'];
    readonly logger: Logger;
  },
): Promise<void> {
  const former = openFormerKey(config);
  if (former === null) return;
  const sealed = {
    secrets: await secrets.rekey(former),
    systems: await systems.rekey(former),
    issuers: await issuers.rekey(former),
    runs: await rekeyRuns({ store, secrets }, former),
  };
  logger.info(sealed, 'what the former key had sealed is sealed with the present one');
}

/** So many of the secrets that cannot be used are named in the log. */
const NAMED_SECRETS = 10;

/** Whoever gave the server another key than before hears of it now, not when the first job fails. */
async function tellOfOtherKey(secrets: Secrets, logger: Logger): Promise<void> {
  const names = await secrets.sealedOtherwise(NAMED_SECRETS);
  if (names.length === 0) return;
  const fix =
    'give the server the key that sealed them, as secrets.old_key_file where it is to have another; or set them again';
  logger.error({ secrets: names, fix }, 'secrets were sealed with another key: they cannot be used');
}

async function start(config: ServerConfig, options: ServerOptions, layers: Layers): Promise<RunningServer> {
  const { clock = systemClock, random = systemRandom, print = printLine } = options;
  const logger = options.logger ?? createLogger(config.log_level);
  const pages = config.console ? readConsole(options.consoleDirectory ?? builtConsole()) : null;
  // All listeners, before anything is opened.
  for (const warning of expiredCertificates(config, clock.now())) logger.warn(warning);
  const certificates = certificateEnds(config);
  const tls = readTls(config, 'http');
  const { leading } = options;
  // Of a cluster the directory is the member's, which was there before.
  if (leading === undefined) {
    const lock = lockDirectory(config.data_dir);
    layers.add({ stop: async () => lock.release() });
  }

  const metrics = new Metrics();
  metrics.collectProcess();
  if (leading !== undefined) countLead(metrics, () => true);
  const { failed, fail } = failing();
  const store = await openStore(config, { clock, logger, random, metrics, fail, exclusive: true, cluster: leading });
  layers.add({ stop: () => store.close() });

  // First: it may fail, and what follows is running once it is made.
  const sealingKey = leading?.sealingKey ?? openSealingKey(config, { make: true });
  const ownFiles = keyFilesIn(config.data_dir);
  const keyFiles = leading === undefined ? ownFiles : await sharedKeyFiles({ store, key: sealingKey, own: ownFiles });
  const serverKey = await RotatingServerKey.open(keyFiles, options.newKey);
  await keyFiles.settled();
  const socketsFailed = (error: unknown): void => {
    logger.error({ err: error }, 'the command socket failed');
    fail('the command socket failed', error);
  };
  const incarnation = randomUUID();
  const sockets = options.transport ?? nodeSockets(config, { clock, failed: socketsFailed });
  const serverName = config.name ?? hostname();
  const places =
    leading === undefined
      ? undefined
      : new FrontedTransport({
          ...{ own: sockets, clock, log: logger, name: serverName, weight: config.cluster_weight },
          drained: () => leading.servers.drained,
        });
  const peers = new LocalPeers(places ?? sockets);
  const composed = compose({
    sealingKey,
    store,
    clock,
    random,
    logger,
    metrics,
    config,
    incarnation,
    serverName,
    serverKeys: serverKey,
    auditHeads: auditHeadsIn(config.data_dir, (err) =>
      logger.error({ err }, 'how far the audit is sealed is not kept beside the database'),
    ),
    transport: peers,
    places,
  });
  const { base, events, auth, secrets, secretProviders, nodes, push, runbooks, tasks, bulk, schedules } = composed;
  const ssh = createSshNodes(base, { nodes, auth, secrets, peers, commands: push.commands });
  const rotation = new ServerKeyRotation({
    key: serverKey,
    changes: auth.changes,
    clock,
    overlapLeast: config.command.config_lifetime,
    revoked: () => nodes.reconnect(),
    failed: (error) => logger.warn({ err: error }, 'the key of the server: a step could not be made; trying again'),
  });
  const fabric = createEventFabric({ ...base, logger, auth, events, families: DECLARED.families, version: VERSION });
  auth.listeners.add(fabric);
  const { families } = DECLARED;
  const counts = new EventCounts({ ...base, log: logger, families });
  auth.listeners.add(counts);
  const streams = new EventStreams({ clock, metrics });
  const startedAt = clock.now();
  const broker = await openBroker(base);
  const runner = createTaskRunner({
    tasks: tasks.controller,
    recorder: base.recorder,
    read: store.read,
    organization: async (orgId) => (await auth.repository.organizationById(orgId)) ?? undefined,
  });
  const sessions = new AgentSessions({ nodes: nodes.registry, clock, random });
  const connections = new WorkerConnections({
    agents: sessions,
    clock,
    random,
    reached: () => ({ url: advertisedUrl(http.url, config), certificate: tls ? fingerprintOf(tls.cert) : null }),
  });
  const jobs = createJobs(base, { broker, version: VERSION, tasks: runner, agents: sessions, connections, sealingKey });
  auth.listeners.add(jobs);
  const rules = createRules(base, {
    auth,
    families: DECLARED.families,
    runbooks,
    tasks,
    jobs,
    calendars: schedules.calendars,
  });
  const notifications = createNotifications(base, {
    auth,
    families: DECLARED.families,
    masterKey: jobs.masterKey,
    baseUrl: () => advertisedUrl(http.url, config),
    gaveUp,
  });
  const { changes, repository, directories } = auth;
  const leases = new Leases({ store, clock, holder: incarnation });
  const directorySync = new DirectorySync({ store, leases, clock, log: logger, changes, repository, directories });
  const http: HttpLayer = new HttpLayer({
    listen: config.http.listen,
    tls: tls !== undefined,
    streams,
    alongside: [sessions, fabric, jobs, schedules, push, inTurn(bulk, tasks), { stop: async () => places?.detach() }],
    ...(leading && { needed: leading.httpNeeded }),
  });
  const disbatch = createDisbatch(base, { auth, controller: tasks.controller, logger });
  layers.add(
    { stop: () => broker.close() },
    rotation,
    ...composed.layers,
    ...(leading === undefined ? [] : [watchServers(leading, base, auth.changes)]),
    counts,
    ssh,
    { stop: async () => secretProviders.close() },
    { stop: async () => runner.stop() },
    sessions,
    jobs,
    rules,
    notifications,
    directorySync,
    fabric,
    http,
    disbatch,
  );

  await rekey(config, { store, secrets, systems: jobs.systems, issuers: auth.issuerSecrets, logger });
  await tellOfOtherKey(secrets, logger);
  await layers.load();
  // Workers record what happens to jobs in the same database.
  if (store.kind === 'postgres') base.recorder.follow();
  const first = await bootstrap(auth, store, async () => (await adminKeys(config.data_dir)).publicKey);
  const finders = [
    nodeFinder(nodes.inventory),
    ...pushFinders({ read: store.read, runbooks: runbooks.runbooks, auth }),
    ...taskFinders({ read: store.read, tasks: tasks.controller, schedules, auth }),
    jobFinder({ read: store.read, auth }),
    ruleFinder(rules),
    ...peopleFinders(auth),
  ];
  http.app = await createApp({
    auth,
    clock,
    logger,
    metrics,
    version: VERSION,
    position: () => events.log.last(),
    bodyLimit: config.http.body_limit,
    minSigning: config.auth.min_signing,
    rates: { perPrincipal: config.limits.requests_per_principal, perAddress: config.limits.requests_per_address },
    trustedProxies: config.http.trusted_proxies,
    errorShapes: [AGAVE_ERRORS, AGAVE_ABSENT],
    routes: [
      pushRoutes(base, push, { auth, streams, runbooks }),
      runbooksRoutes(runbooks, { auth }),
      taskRoutes(base, tasks, { auth, streams, secrets, bulk }),
      schedulesRoutes(base, schedules, { auth, tasks }),
      rulesRoutes(base, rules, { auth, tasks, calendars: schedules.calendars, log: events.log }),
      allJobRoutes(base, jobs, { auth, streams }),
      nodesRoutes(nodes),
      (app) => sshNodeRoutes(app, { ...ssh, inventory: nodes.inventory, secrets, auth }),
      (app) => sessionRoutes(app, { auth, sessions }),
      (app) => workerConnectionRoutes(app, connections),
      (app) => notifications.routes(app),
      (app) => fabric.routes(app),
      (app) => countRoutes(app, { counts, auth, families, now: () => clock.now() }),
      (app) => disbatch.routes(app),
      (app) => authRoutes(app, auth),
      (app) => findRoutes(app, { auth, finders }),
      (app) => serverKeyRoutes(app, { key: serverKey, rotation, agents: (since) => nodes.configuredSince(since) }),
      (app) => secretRoutes(app, { secrets, providers: secretProviders }),
      (app) =>
        clusterRoutes(app, {
          changes: auth.changes,
          clock,
          nodes: () => layers.status().nodes,
          work: () => ({ ...push.unfinished(), ...tasks.unfinished() }),
          broker: () => broker.status(),
          places: () => places?.counts() ?? new Map(),
          cluster: leading === undefined ? null : { list: () => leading.servers.list(), changed: leading.changed },
        }),
      ...(config.console ? [(app: App) => consoleRoutes(app, pages)] : []),
      ...(options.routes === undefined ? [] : [options.routes]),
    ],
    status: () => ({
      incarnation,
      startedAt,
      now: clock.now(),
      store: store.health(),
      certificates,
      serverKeys: serverKey,
      ...(leading && { cluster: leading.status() }),
      ...layers.status(),
    }),
    refused: (organization, name, reason) => nodes.nodeRefused(organization, name, reason),
    ...(tls && { tls }),
    ...(leading && {
      passedOn: ({ headers, method = 'GET', url = '/' }) => leading.vouching.sender(headers, method, url),
    }),
    checkAnswers: options.checkAnswers === true,
  });
  if (leading !== undefined && places !== undefined) {
    countServers(metrics, leading, places);
    servePassedOn(http.app.server, leading, {
      stomp: (socket) => fabric.take(socket),
      nodes: (socket) => places.attach(socket),
    });
  }
  fabric.attach(http.app.server);
  serveSessions(http.app, sessions, connections);
  await leading?.socketsNeeded();
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
