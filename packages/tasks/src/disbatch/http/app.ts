import type { IncomingMessage } from 'node:http';
import fastifyStatic from '@fastify/static';
import type { Auth } from '@muster/platform/auth';
import { type App, createHttpServer, HTTP_LIMITS, readBody } from '@muster/platform/http';
import { type FastifyBaseLogger, type FastifyReply, type FastifyRequest, fastify, LogController } from 'fastify';
import { MusterError } from '../../errors.js';
import { type DisbatchCall, type DisbatchDeps, type DisbatchRoute, refusedAs } from '../interface.js';
import { DISBATCH_LIMITS } from '../limits.js';
import { Refusal } from '../refusal.js';
import { LoginNeeded, login, REALM } from './login.js';
import { answered, namesIn } from './organization-routes.js';
import { PAGE } from './page.js';
import { writeAnswer } from './write-answer.js';

export interface DisbatchAppDeps extends DisbatchDeps {
  readonly auth: Pick<Auth, 'authentication' | 'authorize' | 'audit' | 'organizations'>;
  readonly logger: FastifyBaseLogger;
  /** The name of the organization that it shows. */
  readonly organization: string;
  /** PEM texts; plain HTTP when absent. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Directory of static files. */
  readonly webRoot?: string | undefined;
}

/** The command interface at the root of a listener of its own. Not yet listening. */
export async function createDisbatchApp(deps: DisbatchAppDeps, routes: readonly DisbatchRoute[]): Promise<App> {
  const { logger, tls, webRoot } = deps;
  const app: App = fastify({
    loggerInstance: logger.child({}),
    logController: new LogController({ disableRequestLogging: true }),
    // HEAD as GET, without the body.
    exposeHeadRoutes: true,
    forceCloseConnections: 'idle',
    serverFactory: (handler) => createHttpServer(handler, tls),
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: HTTP_LIMITS.paramLength },
  });
  // Clients send JSON with GET.
  app.addHttpMethod('GET', { hasBody: true, overrideExisting: true });
  app.removeAllContentTypeParsers();
  const bodies = new WeakMap<object, Buffer>();
  app.addContentTypeParser('*', async (request: { raw: object }, payload: IncomingMessage) => {
    bodies.set(request.raw, await readBody(payload, DISBATCH_LIMITS.bodyBytes));
  });
  app.decorateRequest('rawBody', {
    getter() {
      return bodies.get(this.raw) ?? Buffer.alloc(0);
    },
  });
  app.addHook('onSend', async (_request, reply) => void reply.header('x-content-type-options', 'nosniff'));
  app.setErrorHandler((error, request, reply) =>
    sendFault(error, reply, () => request.log.error({ err: error }, 'request failed'), deps),
  );
  app.setNotFoundHandler((_request, reply) => reply.code(404).type('text/plain').send('This is the void'));
  for (const route of routes) addRoute(app, route, deps);
  if (webRoot === undefined) {
    app.get('/', (_request, reply) => reply.type('text/html; charset=utf-8').send(PAGE));
  } else {
    await app.register(fastifyStatic, {
      root: webRoot,
      dotfiles: 'ignore',
      setHeaders: (response, path) => {
        if (path.endsWith('index.html')) response.header('cache-control', 'no-cache');
      },
    });
  }
  return app;
}

function addRoute(app: App, route: DisbatchRoute, deps: DisbatchAppDeps): void {
  const { method, path: url, permission } = route;
  const [subjectName] = namesIn(url);
  const admitted = new WeakMap<FastifyRequest, Pick<DisbatchCall, 'organization' | 'by'>>();
  app.route({
    method,
    url,
    // Before the body is read.
    onRequest: async (request) => {
      const organization = await deps.auth.organizations.find(deps.organization);
      if (organization === undefined) {
        throw new Refusal(`there is no organization '${deps.organization}' (disbatch.org)`);
      }
      const named = request.params as Readonly<Record<string, string>>;
      const subject = subjectName === undefined ? undefined : named[subjectName];
      admitted.set(request, { organization, by: await login(deps, request, organization, permission, subject) });
    },
    handler: async (request, reply) => {
      const answer = await answered(route, request, () => {
        const who = admitted.get(request);
        if (who === undefined) throw new Error(`${method} ${url} let nobody in`);
        return who;
      });
      return writeAnswer(reply, deps.settings.dialect, answer);
    },
  });
}

/** The only place that turns a fault into an answer. */
function sendFault(error: unknown, reply: FastifyReply, log: () => void, { settings }: DisbatchDeps): void {
  if (error instanceof LoginNeeded) {
    void writeAnswer(reply.header('www-authenticate', `Basic realm="${REALM}"`), settings.dialect, {
      status: 401,
      body: { error: 'log in with a user and an access token' },
      pretty: false,
    });
    return;
  }
  const known = error instanceof Refusal || (error instanceof MusterError && error.code !== 'internal');
  if (known && !(error instanceof MusterError && error.status >= 500)) {
    void writeAnswer(reply, settings.dialect, refusedAs(error));
    return;
  }
  if (error instanceof MusterError && error.code !== 'internal') {
    const { status, message } = error;
    void writeAnswer(reply, settings.dialect, { status, body: { error: message }, pretty: false });
    return;
  }
  // What the framework refuses by itself, such as a path that is not percent-encoding.
  const { statusCode = 500, message = '' } = error as { statusCode?: number; message?: string };
  if (statusCode < 500) {
    void writeAnswer(reply, settings.dialect, { status: statusCode, body: { error: message }, pretty: false });
    return;
  }
  log();
  void reply.code(500).type('text/plain').send('Internal Server Error');
}
