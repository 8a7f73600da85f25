import type { IncomingMessage } from 'node:http';
import type { Clock } from '@muster/base';
import { readSignedHeaders } from '@muster/signing';
import type { FastifyRequest, RouteOptions } from 'fastify';
import type { Counter } from 'prom-client';
import type { Auth } from '../auth/auth.js';
import { type Authenticated, NotAuthenticated } from '../auth/authentication.js';
import { SignInRefused } from '../auth/issuers/sign-in-refused.js';
import { type Actor, actorOf, type Organization, type Permission } from '../auth/types.js';
import { MusterError } from '../errors.js';
import type { Metrics } from '../metrics/metrics.js';
import { accepts } from './accept.js';
import { basicLogin, isBasic } from './basic-login.js';
import { parseJsonBody, readBody } from './body.js';
import { HTTP_LIMITS } from './limits.js';
import { refuseChangesOfOtherPages, requireOwnPage } from './own-page.js';
import { type Credentials, decorateRequests, isStreamed, passageOf } from './passage.js';
import { pathOf } from './path.js';
import type { RequestLimits } from './rates.js';
import { type App, isOpen, type RoutePermission } from './route.js';
import { sessionCookie } from './session-cookie.js';
import { UnsignedQueries } from './unsigned-queries.js';

export interface GateDeps {
  readonly auth: Auth;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly bodyLimit: number;
  readonly minSigning: MinSigning;
  readonly refused: (organization: string, name: string, reason: string) => void;
  readonly limits: Pick<RequestLimits, 'byPrincipal'>;
}

export type MinSigning = '1.0' | '1.1' | '1.3';

const ANYTHING = '*/*';
const BODYLESS: ReadonlySet<string> = new Set(['GET', 'HEAD']);
const bearer = /^Bearer +([\x21-\x7e]{1,512})$/i;
const jwt = /^Bearer +([\w-]+\.[\w-]+\.[\w-]*)$/i;
const ASSERTION = 'x-jwt-assertion-';

function param(request: FastifyRequest, name: string): string | undefined {
  const params: unknown = request.params;
  if (typeof params !== 'object' || params === null) return undefined;
  const value: unknown = Reflect.get(params, name);
  return typeof value === 'string' ? value : undefined;
}

function queryOf(request: FastifyRequest): { readonly text: string; readonly parameters: readonly string[] } {
  const [, text = ''] = /\?(.*)$/s.exec(request.raw.url ?? '') ?? [];
  return { text, parameters: Object.keys(request.query ?? {}) };
}

/** Public routes have no caller, and enrolment and signing in none that bears an access token. */
function changes({ method, config }: RouteOptions): boolean {
  if (isOpen(config?.permission)) return false;
  return [method].flat().some((one) => one !== 'GET' && one !== 'HEAD');
}

const declares = ({ config }: RouteOptions): boolean => config?.empowers !== undefined;

function refuseRoutes(what: string, routes: readonly RouteOptions[], refused: (route: RouteOptions) => boolean): void {
  const named = routes.filter(refused).map(({ method, url }) => `${String(method)} ${url}`);
  if (named.length > 0) throw new Error(`routes ${what}: ${named.join(', ')}`);
}

/** Does a header say who sends it? A cookie goes with whatever a browser sends, so all else counts more. */
function says(headers: FastifyRequest['headers']): boolean {
  if (headers.authorization !== undefined) return true;
  return Object.keys(headers).some((name) => name.startsWith('x-ops-') || name.startsWith(ASSERTION));
}

/**
 * By the token of an issuer: a JWT assertion, whose header names the tenant (sheet §8.2), or a bearer token. null: by nothing of
 * that kind.
 */
function issuedCredentials(headers: FastifyRequest['headers']): Credentials | null {
  const assertions = Object.keys(headers).filter((name) => name.startsWith(ASSERTION));
  const [name] = assertions;
  if (assertions.length > 1)
    throw new MusterError('invalid_jwt', { reason: 'there are assertions for several tenants' });
  const tenant = name?.slice(ASSERTION.length) ?? null;
  if (headers['x-ops-sign'] !== undefined) return null;
  const given = name === undefined ? jwt.exec(headers.authorization ?? '')?.[1] : headers[name];
  if (typeof given === 'string' && given.trim() !== '') return { kind: 'jwt', token: given.trim(), tenant };
  if (name !== undefined || headers.authorization === undefined) throw new MusterError('login_missing');
  return null;
}

/**
 * The one gate. Every route passes it, in the order of sheet §7.2: signature headers, body size, the route's own early
 * checks, principal and signature, organization, membership, permission, a signature where a token is not enough, Accept, and last the
 * body's type. What it lets through has a caller.
 */
export class Gate {
  readonly #deps: GateDeps;
  readonly #denials: Counter<'code'>;
  readonly #queries: UnsignedQueries;

  constructor(deps: GateDeps) {
    this.#deps = deps;
    this.#queries = new UnsignedQueries(deps.clock);
    this.#denials = deps.metrics.counter('muster_denials_total', 'Requests that were denied, by error code', ['code']);
  }

  /** To be called before any route is added. */
  guard(app: App): void {
    const routes: RouteOptions[] = [];
    decorateRequests(app);
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', async (request: FastifyRequest, payload: IncomingMessage) => {
      const passage = passageOf(request);
      const covered = passage.credentials?.kind !== 'bearer' && passage.credentials?.kind !== 'session';
      if (isStreamed(request) && !covered) passage.payload = payload;
      else passage.rawBody = await readBody(payload, this.#deps.bodyLimit);
    });
    // Judged when all are there: a plugin's routes get their permission from hooks that run after this one.
    app.addHook('onRoute', (route) => void routes.push(route));
    app.addHook('onReady', async () => {
      refuseRoutes('without a permission', routes, ({ config }) => config?.permission === undefined);
      refuseRoutes('with a permission that no layer declares', routes, ({ config }) =>
        this.#unknown(config?.permission),
      );
      refuseRoutes('that do not say whether they empower', routes, (route) => changes(route) && !declares(route));
    });
    app.addHook('onRequest', async (request) => this.#readCredentials(request));
    app.addHook('onRequest', async (request) => {
      // The framework reads no body of a GET.
      if (request.routeOptions.config.anyBody !== true || !BODYLESS.has(request.method)) return;
      passageOf(request).rawBody = await readBody(request.raw, this.#deps.bodyLimit);
    });
    app.addHook('preValidation', async (request) => this.#admit(request));
  }

  #unknown(permission: RoutePermission | undefined): boolean {
    if (permission === undefined || isOpen(permission)) return false;
    return !this.#deps.auth.rights.has(permission);
  }

  /** Checks 1 to 4 of sheet §1.5: they come before the body is read. */
  #readCredentials(request: FastifyRequest): void {
    const { permission } = request.routeOptions.config;
    if (request.is404 || permission === undefined || isOpen(permission)) return;
    passageOf(request).credentials = this.#credentials(request);
  }

  #credentials(request: FastifyRequest): Credentials {
    const { headers } = request;
    const { ofSession } = request.routeOptions.config;
    const secret = says(headers) ? null : sessionCookie(request);
    if (secret !== null) {
      requireOwnPage(request);
      return { kind: 'session', secret };
    }
    if (ofSession === true && !says(headers)) throw new MusterError('login_missing');
    const login = this.#basic(request);
    if (login !== null) return login;
    const issued = request.routeOptions.config.tenant === undefined ? null : issuedCredentials(headers);
    if (issued !== null) return issued;
    const token = headers['x-ops-sign'] === undefined ? bearer.exec(headers.authorization ?? '')?.[1] : undefined;
    if (token !== undefined) return { kind: 'bearer', token };
    const signed = readSignedHeaders(headers, this.#deps.clock.now());
    const { minSigning: least } = this.#deps;
    if (Number(signed.version) < Number(least)) throw new MusterError('signing_version_too_old', { least });
    return { kind: 'signature', signed };
  }

  /** Null: the route knows no HTTP basic, or the request says by other means who sends it. @throws MusterError `login_missing` */
  #basic(request: FastifyRequest): Credentials | null {
    const { headers, routeOptions } = request;
    if (routeOptions.config.basicRealm === undefined) return null;
    // Such clients send their password only when they are asked for it.
    if (!says(headers)) throw new MusterError('login_missing');
    if (!isBasic(headers.authorization)) return null;
    const login = basicLogin(headers.authorization);
    if (login === null) throw new MusterError('login_missing');
    refuseChangesOfOtherPages(request);
    return { kind: 'bearer', ...login };
  }

  async #admit(request: FastifyRequest): Promise<void> {
    if (request.is404) return;
    const { permission, accept = 'application/json', beforeAuth, anyBody } = request.routeOptions.config;
    beforeAuth?.(request);
    await this.#authorize(request, permission);
    if (accept !== ANYTHING && !accepts(request.headers.accept, accept))
      throw new MusterError('not_acceptable', { type: accept });
    if (anyBody !== true) request.body = isStreamed(request) ? undefined : parseJsonBody(request);
  }

  async #authorize(request: FastifyRequest, permission: RoutePermission | undefined): Promise<void> {
    if (permission === 'public') return;
    const passage = passageOf(request);
    passage.judgedAt = performance.now();
    const { changes } = this.#deps.auth.standing;
    const organization = await this.#organization(request);
    if (organization !== null && organization !== 'missing') passage.organization = organization;
    const { tenant } = request.routeOptions.config;
    // Its handler says the same of an organization that is missing as of a token that is.
    if (permission === 'enrol' || permission === 'login') return;
    // Start-up refuses such a route; should one appear later, nobody gets in.
    if (permission === undefined) throw this.#deps.auth.rights.forbidden('anybody', 'server:admin');
    if (organization === 'missing') return this.#refuseOrganization(request, permission);
    try {
      await this.#admitCaller(request, permission, organization, changes, tenant === 'credentials');
    } catch (error) {
      // Who belonged to an organization that is deleted meanwhile belongs to it no more: the reason is that it is gone.
      if (organization !== null) this.#deps.auth.organizations.assertPresent(organization);
      throw error;
    }
  }

  async #admitCaller(
    request: FastifyRequest,
    permission: Permission,
    named: Organization | null,
    changes: number,
    needsOne: boolean,
  ): Promise<void> {
    const { auth } = this.#deps;
    const proved = await this.#authenticate(request, permission, named);
    const { credential } = proved;
    const caller = { ...proved.identity, address: request.ip };
    const passage = passageOf(request);
    passage.caller = caller;
    this.#deps.limits.byPrincipal(caller.principalId, caller.name);
    const organization = proved.organization ?? named;
    if (organization === null && needsOne) throw await auth.authentication.homeless(caller);
    if (organization !== null) passage.organization = organization;
    const right = auth.rights.of(permission);
    const subject = right.subject === undefined ? undefined : param(request, right.subject);
    if (!(await auth.authorize(caller, organization, permission, subject))) {
      throw right.refusal?.(caller) ?? auth.rights.forbidden(caller.name, permission);
    }
    const { empowers, showsOutput } = request.routeOptions.config;
    if (empowers === true && caller.publicKey === null)
      throw new MusterError('signature_required', { name: caller.name });
    if (showsOutput === true) {
      auth.audit.looked({
        orgId: organization?.id ?? null,
        actor: actorOf(caller),
        action: 'output.read',
        target: pathOf(request.raw),
      });
    }
    const ground = { identity: caller, credential, organization, permission, subject };
    passage.admission = {
      reader: caller.principalId,
      watch: (lost) => auth.standing.watch(ground, changes, lost),
    };
  }

  /** Null: the route names none. */
  async #organization(request: FastifyRequest): Promise<Organization | 'missing' | null> {
    const { tenant, ofSession } = request.routeOptions.config;
    if (tenant === 'credentials') return this.#home(request);
    if (ofSession === true && passageOf(request).credentials?.kind === 'session') return this.#home(request);
    const name = param(request, 'org');
    if (name === undefined) return null;
    // What cannot be a name is not looked up: the databases differ in what text they take.
    return (await this.#deps.auth.organizations.find(name)) ?? 'missing';
  }

  /** Of a request whose path names none. A token of an issuer tells it when it is verified. */
  async #home(request: FastifyRequest): Promise<Organization | null> {
    const { authentication } = this.#deps.auth;
    const { credentials } = passageOf(request);
    switch (credentials?.kind) {
      case 'bearer':
        return authentication.homeOf({ token: credentials.token });
      case 'session':
        return authentication.homeOf({ session: credentials.secret });
      case 'signature':
        return authentication.homeOf({ user: credentials.signed.userId });
      default:
        return null;
    }
  }

  /** Only who proves to be a user of this server is told that there is no such organization. */
  async #refuseOrganization(request: FastifyRequest, permission: Permission): Promise<never> {
    try {
      await this.#authenticate(request, permission, null);
    } catch (error) {
      // Who belongs to some organization, as services do, belongs to none here.
      if (!(error instanceof MusterError) || error.code !== 'not_associated') throw error;
    }
    const organization = param(request, 'org')?.slice(0, HTTP_LIMITS.echoedCharacters) ?? '';
    throw new MusterError('organization_not_found', { organization });
  }

  async #authenticate(
    request: FastifyRequest,
    permission: Permission,
    organization: Organization | null,
  ): Promise<Authenticated & { readonly organization?: Organization }> {
    const { credentials, rawBody } = passageOf(request);
    const realm = { organization, administration: this.#deps.auth.rights.of(permission).administration };
    const { authentication } = this.#deps.auth;
    switch (credentials?.kind) {
      case 'signature': {
        const { signed } = credentials;
        const content = { method: request.method, path: request.raw.url ?? '', body: rawBody };
        const caller = await authentication.bySignature(signed, content, realm, this.#deps.clock.now());
        this.#queries.check(signed, queryOf(request), request.routeOptions.config.unsignedQuery ?? []);
        return caller;
      }
      case 'bearer': {
        const { token, name } = credentials;
        const caller = await authentication.byToken(token, realm, this.#deps.clock.now());
        if (name !== undefined && caller.identity.name !== name) throw new MusterError('invalid_token');
        return caller;
      }
      case 'session':
        return authentication.bySession(credentials.secret, realm);
      case 'jwt':
        return authentication.byJwt(credentials, organization);
      case undefined:
        throw new Error('credentials are read before the body');
    }
  }

  /** How long the answer waits: how soon a stranger is refused must not tell which names there are. */
  withholdMs(error: MusterError, request: FastifyRequest): number {
    const { caller, judgedAt } = passageOf(request);
    if (error.status !== 401 || caller !== undefined || judgedAt === undefined) return 0;
    const least = error instanceof SignInRefused ? HTTP_LIMITS.signInRefusalMs : HTTP_LIMITS.refusalMs;
    return Math.max(0, least - (performance.now() - judgedAt));
  }

  /** Counts and audits a denial, wherever it was thrown. Other errors pass. */
  observe(error: MusterError, request: FastifyRequest): void {
    const refused = error instanceof SignInRefused ? error : null;
    if (error.status !== 401 && error.status !== 403 && error.code !== 'sign_in_throttled') return;
    const code = error instanceof NotAuthenticated ? error.reason : error.code;
    this.#denials.inc({ code });
    const { caller, credentials, organization } = passageOf(request);
    const signer = credentials?.kind === 'signature' ? credentials.signed.userId : request.headers['x-ops-userid'];
    const claimed = refused?.claimed ?? signer;
    const actor: Actor =
      caller === undefined
        ? { name: typeof claimed === 'string' ? claimed : '', kind: 'claimed', address: request.ip }
        : actorOf(caller);
    // Of whom the token is, if it is anybody's, is in the reason.
    const login = request.routeOptions.config.permission === 'login';
    // That is for nodes.
    if (refused === null) this.#deps.refused(param(request, 'org') ?? '', actor.name, code);
    this.#deps.auth.audit.denied(caller === undefined ? 'stranger' : 'caller', {
      orgId: organization?.id ?? null,
      actor,
      action: login ? 'login.refuse' : 'access.denied',
      target: pathOf(request.raw),
      detail: {
        code,
        method: request.method,
        address: request.ip,
        ...(login && { reason: refused?.reason ?? error.message }),
      },
    });
  }
}
