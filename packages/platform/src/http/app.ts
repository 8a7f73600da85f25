import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { Clock } from '@muster/base';
import { type FastifyBaseLogger, type FastifyError, type FastifyRequest, fastify, LogController } from 'fastify';
import type { Auth } from '../auth/auth.js';
import { MusterError } from '../errors.js';
import type { Metrics } from '../metrics/metrics.js';
import { compressAnswers } from './compressed.js';
import { type ErrorShape, sendError, toMusterError } from './errors.js';
import { limitFields } from './fields.js';
import { Gate, type MinSigning } from './gate.js';
import { HTTP_LIMITS } from './limits.js';
import { type KnownPath, ROUTER_OPTIONS, watchMethods } from './methods.js';
import { describeRoutes } from './openapi.js';
import { routeNotFound } from './path.js';
import { tellPosition } from './position.js';
import { refuseQueries } from './query.js';
import { RequestLimits, type RequestRates } from './rates.js';
import type { App } from './route.js';
import { type ServerStatus, statusRoutes } from './status.js';
import { checkingSerializer, plainSerializer, validatorCompiler } from './validation.js';
import { answerWebSockets } from './web-socket-answers.js';

export interface AppDeps {
  readonly auth: Auth;
  readonly clock: Clock;
  readonly logger: FastifyBaseLogger;
  readonly metrics: Metrics;
  readonly status: () => ServerStatus;
  readonly version: string;
  readonly bodyLimit: number;
  /** Least version of request signing that is taken; any when absent. */
  readonly minSigning?: MinSigning;
  /** Of the newest event that listeners were told of; nobody is told it when absent. */
  readonly position?: () => number;
  /** How many requests are taken; any number when absent. */
  readonly rates?: RequestRates;
  /** Who really sent a request that another server of the cluster passed on; nobody passes on when absent. */
  readonly passedOn?: (request: IncomingMessage) => { readonly address: string; readonly protocol: string } | null;
  /** Addresses and networks whose X-Forwarded-* are believed; nobody's when absent. */
  readonly trustedProxies?: readonly string[];
  /** A request in somebody's name to this organization was refused, for diagnosis. */
  readonly refused?: (organization: string, name: string, reason: string) => void;
  /** PEM texts; plain HTTP when absent. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** On the paths of clients of other systems. */
  readonly errorShapes?: readonly ErrorShape[];
  /** The domains' routes, in the order they appear in the description. */
  readonly routes: readonly ((app: App) => void)[];
  /** Answers that do not fit their schema fail: for tests, so that the description stays true. */
  readonly checkAnswers?: boolean;
}

const SERVER_OPTIONS: ServerOptions = {
  requestTimeout: HTTP_LIMITS.requestTimeoutMs,
  headersTimeout: HTTP_LIMITS.headersTimeoutMs,
  keepAliveTimeout: HTTP_LIMITS.keepAliveTimeoutMs,
};

/** With the limits that every HTTP server of ours has. */
export function createHttpServer(listener: RequestListener, tls: AppDeps['tls']): Server {
  const server =
    tls === undefined
      ? createServer(SERVER_OPTIONS, listener)
      : createTlsServer({ ...SERVER_OPTIONS, ...tls }, listener);
  server.maxConnections = HTTP_LIMITS.connections;
  return server;
}

/** The HTTP side of the server: limits, the gate, errors, description, and the domains' routes. Not yet listening. */
export async function createApp(deps: AppDeps): Promise<App> {
  const { auth, clock, logger, metrics } = deps;
  const { bodyLimit, minSigning = '1.0', trustedProxies = [], refused = () => undefined, errorShapes = [] } = deps;
  const { rates = { perPrincipal: 0, perAddress: 0 } } = deps;
  const limits = new RequestLimits({ rates, clock, metrics });
  const gate = new Gate({ auth, clock, metrics, bodyLimit, minSigning, refused, limits });
  const answerError = (error: FastifyError | MusterError, ...[request, reply]: ErrorParameters): void => {
    const known = toMusterError(error);
    gate.observe(known, request);
    const waitMs = gate.withholdMs(known, request);
    if (waitMs === 0) sendError(known, request, reply, errorShapes);
    else setTimeout(() => sendError(known, request, reply, errorShapes), waitMs);
  };
  const app: App = fastify({
    // Its own, so that its level can be changed.
    loggerInstance: logger.child({}),
    logController: new LogController({ disableRequestLogging: true }),
    // One of its own for each request cost a fortieth of a server that takes jobs; what is told of a request names it.
    childLoggerFactory: (own) => own,
    exposeHeadRoutes: false,
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    forceCloseConnections: 'idle',
    serverFactory: (handler) => createHttpServer(handler, deps.tls),
    routerOptions: ROUTER_OPTIONS,
    frameworkErrors: answerError,
  }).withTypeProvider<TypeBoxTypeProvider>();
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(deps.checkAnswers === true ? checkingSerializer : plainSerializer);
  app.setErrorHandler(answerError);
  const pathOf = watchMethods(app);
  app.setNotFoundHandler((request) => {
    throw nowhere(request, pathOf(request));
  });
  const { passedOn } = deps;
  if (passedOn !== undefined) app.addHook('onRequest', async (request) => asSent(request, passedOn(request.raw)));
  app.addHook('onRequest', async (request) => limits.fromAddress(request.ip));
  // Already here, so that the body of a request to nowhere is not even looked at.
  app.addHook('onRequest', async (request) => {
    if (request.is404) throw nowhere(request, pathOf(request));
  });
  answerWebSockets(app, clock);
  compressAnswers(app);
  observeDurations(app, metrics, (request) => request.routeOptions.url ?? pathOf(request)?.url ?? 'none');
  gate.guard(app);
  refuseQueries(app);
  limitFields(app);
  if (deps.position !== undefined) tellPosition(app, deps.position);
  await describeRoutes(app, deps.version);
  statusRoutes(app, deps.status, metrics);
  for (const routes of deps.routes) routes(app);
  return app;
}

/** The request as it came to the server that passed it on. */
function asSent(request: FastifyRequest, sender: { readonly address: string; readonly protocol: string } | null): void {
  if (sender === null) return;
  Object.defineProperties(request, { ip: { value: sender.address }, protocol: { value: sender.protocol } });
}

function nowhere({ method, raw }: FastifyRequest, path: KnownPath | undefined): MusterError {
  if (path !== undefined) return new MusterError('method_not_allowed', { method, allow: path.allow });
  return routeNotFound(raw);
}

type ErrorParameters = [Parameters<typeof sendError>[1], Parameters<typeof sendError>[2]];

/** Seconds. Few, as there is a series of each for every route. */
const BUCKETS = [0.01, 0.05, 0.25, 1, 5];

function observeDurations(app: App, metrics: Metrics, routeOf: (request: FastifyRequest) => string): void {
  const durations = metrics.histogram(
    'muster_http_request_duration_seconds',
    'Requests by route and class of status (2xx); event streams until they end',
    BUCKETS,
    ['method', 'route', 'status'],
  );
  app.addHook('onSend', async (_request, reply) => {
    reply.header('x-content-type-options', 'nosniff');
  });
  app.addHook('onResponse', async (request, reply) => {
    const { method } = request;
    const route = routeOf(request);
    const status = `${Math.floor(reply.statusCode / 100)}xx`;
    durations.observe({ method, route, status }, reply.elapsedTime / 1000);
    const took = { requestId: request.id, status: reply.statusCode, ms: Math.round(reply.elapsedTime) };
    request.log.debug({ method, route, ...took }, 'request');
  });
}
