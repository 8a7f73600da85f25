import type { Clock } from '@muster/base';
import type { Auth, Organization } from '@muster/platform/auth';
import { isLoopback } from '@muster/platform/config';
import { basicLogin } from '@muster/platform/http';
import type { FastifyRequest } from 'fastify';
import { MusterError } from '../../errors.js';
import type { By } from '../../ports.js';
import type { DisbatchRoute } from '../interface.js';
import { Refusal } from '../refusal.js';

/** In which clients expect to log in. */
export const REALM = 'disbatch';

/** Who is not known may not: answered with the challenge for which clients wait. */
export class LoginNeeded extends Error {}

export interface LoginDeps {
  readonly auth: Pick<Auth, 'authentication' | 'authorize' | 'audit'>;
  readonly clock: Pick<Clock, 'now'>;
}

/** A request from this host that says nothing of who sends it: a name that no user can have. */
const LOCAL: By['identity'] = { type: 'user', name: 'disbatch (local)', principalId: 'disbatch (local)' };

/**
 * Who is calling: by HTTP basic, with a user's name and an access token; without a login who is on this host, as the original.
 * @throws LoginNeeded; Refusal for who is known and may not.
 */
export async function login(
  { auth, clock }: LoginDeps,
  request: FastifyRequest,
  organization: Organization,
  permission: DisbatchRoute['permission'],
  subject: string | undefined,
): Promise<By['identity']> {
  const given = request.headers.authorization;
  if (given === undefined && isLocal(request)) return LOCAL;
  const { name, token } = basicLogin(given) ?? { name: '', token: '' };
  const denied = (reason: string): void =>
    auth.audit.denied('stranger', {
      orgId: organization.id,
      actor: { name, kind: 'claimed' },
      action: 'access.denied',
      target: 'disbatch',
      detail: { code: reason, method: request.method, address: request.ip },
    });
  if (token === '') throw new LoginNeeded();
  if (changes(request) && isOfOtherPage(request)) {
    denied('cross_site_request');
    throw new Refusal('a page of another site may change nothing here', 403);
  }
  const realm = { organization, administration: false };
  try {
    const { identity } = await auth.authentication.byToken(token, realm, clock.now());
    if (identity.name !== name) {
      denied('invalid_token');
      throw new LoginNeeded();
    }
    if (await auth.authorize(identity, organization, permission, subject)) return identity;
    denied('forbidden');
    throw new Refusal(`${name} may not do this: it needs the permission ${permission}`, 403);
  } catch (error) {
    if (!(error instanceof MusterError) || error.status >= 500) throw error;
    denied(error.code);
    throw new LoginNeeded();
  }
}

/**
 * It comes from this host, and is not what somebody elsewhere makes a program on it send: a proxy that passes requests on, or
 * a browser that shows another site's page.
 */
function isLocal({ ip, headers }: FastifyRequest): boolean {
  if (!isLoopback(ip) || headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined) return false;
  return isLoopback(hostOf(headers.host)) && !isOfOtherPage({ headers });
}

/** A browser that was given a password sends it again whoever wrote the page; programs say nothing of pages. */
function isOfOtherPage({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  const { origin, host, 'sec-fetch-site': site } = headers;
  if (origin === undefined) return site !== undefined && !SAME.has(String(site));
  return !URL.canParse(origin) || new URL(origin).host !== host;
}

function changes({ method }: FastifyRequest): boolean {
  return method !== 'GET' && method !== 'HEAD';
}

const SAME: ReadonlySet<string> = new Set(['same-origin', 'none']);

/** Without its port, and the brackets of IPv6. */
function hostOf(host: string | undefined): string {
  return (host ?? '').replace(/:\d*$/, '').replace(/^\[|\]$/g, '');
}
