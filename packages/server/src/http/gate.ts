import type { IncomingMessage } from 'node:http';
import { type Clock, type ErrorCode, MusterError, readSignedHeaders } from '@muster/wire';
import type { FastifyRequest, RouteOptions } from 'fastify';
import type { Counter } from 'prom-client';
import type { Auth } from '../auth/index.js';
import { ORGANIZATION_NAME } from '../auth/names.js';
import type { Identity, Organization, Permission } from '../auth/types.js';
import { accepts } from './accept.js';
import { parseJsonBody, readBody } from './body.js';
import { HTTP_LIMITS } from './limits.js';
import type { Metrics } from './metrics.js';
import { type Credentials, decorateRequests, passageOf } from './passage.js';
import type { App, RoutePermission } from './route.js';

export interface GateDeps {
  readonly auth: Auth;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly bodyLimit: number;
  readonly refused: (organization: string, name: string, code: ErrorCode) => void;
}

const organizationName = new RegExp(ORGANIZATION_NAME);
const bearer = /^Bearer +([\x21-\x7e]{1,512})$/i;

/** Server administrators pass without being members where organizations are administered, not where jobs are run. */
function isAdministration(permission: Permission): boolean {
  switch (permission) {
    case 'org:admin':
    case 'server:admin':
    case 'user:self':
    case 'member':
      return true;
    case 'push:read':
    case 'push:write':
    case 'push:execute':
    case 'node:self':
      return false;
  }
}

function param(request: FastifyRequest, name: string): string | undefined {
  const params: unknown = request.params;
  if (typeof params !== 'object' || params === null) return undefined;
  const value: unknown = Reflect.get(params, name);
  return typeof value === 'string' ? value : undefined;
}

function path(request: FastifyRequest): string {
  return (request.raw.url ?? '').split('?', 1)[0] ?? '';
}

/**
 * The one gate. Every route passes it, in the order of sheet §7.2: signature headers, body size, the route's own early
 * checks, organization, principal, signature, permission, Accept, and last the body's type. What it lets through has a
 * caller.
 */
export class Gate {
  readonly #deps: GateDeps;
  readonly #denials: Counter<'code'>;

  constructor(deps: GateDeps) {
    this.#deps = deps;
    this.#denials = deps.metrics.counter('muster_denials_total', 'Requests that were denied, by error code', ['code']);
  }

  /** To be called before any route is added. */
  guard(app: App): void {
    const routes: RouteOptions[] = [];
    decorateRequests(app);
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', async (request: FastifyRequest, payload: IncomingMessage) => {
      passageOf(request).rawBody = await readBody(payload, this.#deps.bodyLimit);
    });
    // Judged when all are there: a plugin's routes get their permission from hooks that run after this one.
    app.addHook('onRoute', (route) => void routes.push(route));
    app.addHook('onReady', async () => {
      const undeclared = routes.filter(({ config }) => config?.permission === undefined);
      if (undeclared.length === 0) return;
      const named = undeclared.map(({ method, url }) => `${String(method)} ${url}`);
      throw new Error(`routes without a permission: ${named.join(', ')}`);
    });
    app.addHook('onRequest', async (request) => this.#readCredentials(request));
    app.addHook('preValidation', async (request) => this.#admit(request));
  }

  /** Checks 1 to 4 of sheet §1.5: they come before the body is read. */
  #readCredentials(request: FastifyRequest): void {
    const { permission } = request.routeOptions.config;
    if (request.is404 || permission === undefined || permission === 'public' || permission === 'enrol') return;
    passageOf(request).credentials = this.#credentials(request);
  }

  #credentials(request: FastifyRequest): Credentials {
    const { headers } = request;
    const token = headers['x-ops-sign'] === undefined ? bearer.exec(headers.authorization ?? '')?.[1] : undefined;
    if (token !== undefined) return { kind: 'bearer', token };
    return { kind: 'signature', signed: readSignedHeaders(headers, this.#deps.clock.now()) };
  }

  async #admit(request: FastifyRequest): Promise<void> {
    if (request.is404) return;
    const { permission, accept = 'application/json', beforeAuth } = request.routeOptions.config;
    beforeAuth?.(request);
    await this.#authorize(request, permission);
    if (!accepts(request.headers.accept, accept)) throw new MusterError('not_acceptable', { type: accept });
    request.body = parseJsonBody(request);
  }

  async #authorize(request: FastifyRequest, permission: RoutePermission | undefined): Promise<void> {
    if (permission === 'public') return;
    const passage = passageOf(request);
    const organization = await this.#organization(request);
    if (organization !== null) passage.organization = organization;
    if (permission === 'enrol') return;
    // Start-up refuses such a route; should one appear later, nobody gets in.
    if (permission === undefined) throw new MusterError('forbidden', { name: 'anybody' });
    try {
      await this.#admitCaller(request, permission, organization);
    } catch (error) {
      // Who belonged to an organization that is deleted meanwhile belongs to it no more: the reason is that it is gone.
      if (organization !== null) this.#deps.auth.organizations.assertPresent(organization);
      throw error;
    }
  }

  async #admitCaller(
    request: FastifyRequest,
    permission: Permission,
    organization: Organization | null,
  ): Promise<void> {
    const caller = await this.#authenticate(request, permission, organization);
    passageOf(request).caller = caller;
    const subject = param(request, 'node') ?? param(request, 'name');
    if (await this.#deps.auth.authorize(caller, organization, permission, subject)) return;
    if (permission === 'node:self' && caller.type === 'node') throw new MusterError('node_name_mismatch');
    throw new MusterError('forbidden', { name: caller.name });
  }

  async #organization(request: FastifyRequest): Promise<Organization | null> {
    const name = param(request, 'org');
    if (name === undefined) return null;
    // What cannot be a name is not looked up: the databases differ in what text they take.
    if (organizationName.test(name)) return this.#deps.auth.organizations.require(name);
    throw new MusterError('organization_not_found', { organization: name.slice(0, HTTP_LIMITS.echoedCharacters) });
  }

  #authenticate(request: FastifyRequest, permission: Permission, organization: Organization | null): Promise<Identity> {
    const { credentials, rawBody } = passageOf(request);
    const realm = { organization, administration: isAdministration(permission) };
    const { authentication } = this.#deps.auth;
    switch (credentials?.kind) {
      case 'signature': {
        const content = { method: request.method, path: request.raw.url ?? '', body: rawBody };
        return authentication.bySignature(credentials.signed, content, realm);
      }
      case 'bearer':
        return authentication.byToken(credentials.token, realm, this.#deps.clock.now());
      case undefined:
        throw new Error('credentials are read before the body');
    }
  }

  /** Counts and audits a denial, wherever it was thrown. Other errors pass. */
  observe(error: MusterError, request: FastifyRequest): void {
    if (error.status !== 401 && error.status !== 403) return;
    this.#denials.inc({ code: error.code });
    const { caller, credentials, organization } = passageOf(request);
    const claimed = credentials?.kind === 'signature' ? credentials.signed.userId : request.headers['x-ops-userid'];
    const actor = caller?.name ?? (typeof claimed === 'string' ? claimed : '');
    this.#deps.refused(param(request, 'org') ?? '', actor, error.code);
    this.#deps.auth.audit.denied(caller === undefined ? 'stranger' : 'caller', {
      orgId: organization?.id ?? null,
      actor,
      action: 'access.denied',
      target: path(request),
      detail: { code: error.code, method: request.method, address: request.ip },
    });
  }
}
