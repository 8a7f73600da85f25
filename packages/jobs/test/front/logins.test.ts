import { ISSUER_LIMITS } from '@muster/platform/auth';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { issue, newIssuer, wso2 } from '../../../platform/test/support/jwt.js';
import { ME } from '../../../platform/test/support/personas.js';
import { type FrontServer, SUBMISSION, startFront } from '../support/front-server.js';

/** Tokens of gateways are long: they name every role of a user. */

const MOST = ISSUER_LIMITS.token;
const gateway = newIssuer();
let front: FrontServer;
beforeAll(async () => {
  front = await startFront();
  const how = { issuer: null, audience: null, userClaim: null, tenant: null, signIn: null, ldap: null };
  const issuer = { name: 'gateway', kind: 'public_key', source: gateway.publicKey, ...how } as const;
  await front.auth.issuers.create(front.org, issuer, ME);
});
afterAll(() => front.close());

/** A token with at most so many characters, and as near as its encoding comes. */
async function tokenOf(most: number): Promise<string> {
  const roles = 'Internal/everyone,Internal/jobs';
  const made = (padding: number): Promise<string> =>
    issue(gateway, front.clock.now(), {
      ...wso2('jdoe', 'default'),
      'http://wso2.org/claims/role': `${roles},Internal/${'r'.repeat(padding)}`,
    });
  let padding = Math.floor(((most - (await made(0)).length) * 3) / 4);
  while ((await made(padding)).length > most) padding -= 1;
  const token = await made(padding);
  expect(most - token.length).toBeLessThan(4);
  return token;
}

const WAYS: readonly [name: string, header: (token: string) => Record<string, string>][] = [
  ['Bearer', (token) => ({ authorization: `Bearer ${token}` })],
  ['x-jwt-assertion-TENANT', (token) => ({ 'x-jwt-assertion-default': token })],
];

async function list(headers: Record<string, string>) {
  const response = await fetch(`${front.url}/organizations/default/jobs/v2/`, { headers });
  return { status: response.status, text: await response.text() };
}

describe.each(WAYS)('a JWT as %s (sheet §8.2)', (_, header) => {
  it('is accepted with just under 8,192 characters', async () => {
    expect(MOST).toBe(8192);
    const token = await tokenOf(MOST - 1);
    const { status, text } = await list(header(token));
    expect([status, JSON.parse(text).status]).toEqual([200, 'success']);
  });

  it('submits a job of its user', async () => {
    const token = await tokenOf(MOST - 1);
    const response = await fetch(`${front.url}/organizations/default/jobs/v2/`, {
      method: 'POST',
      headers: { ...header(token), 'content-type': 'application/json' },
      body: JSON.stringify(SUBMISSION),
    });
    expect([response.status, (await response.json()).result.owner]).toEqual([201, 'jdoe']);
  });

  it('its roles are kept with the job, and filters see them (sheet §1.1)', async () => {
    const token = await issue(gateway, front.clock.now(), wso2('jdoe', 'default'));
    const response = await fetch(`${front.url}/organizations/default/jobs/v2/`, {
      method: 'POST',
      headers: { ...header(token), 'content-type': 'application/json' },
      body: JSON.stringify(SUBMISSION),
    });
    expect((await response.json()).result.roles).toBe('Internal/everyone,Internal/jobs');
  });

  it('is refused with more: 401, and it is not repeated', async () => {
    const token = await tokenOf(MOST + 8);
    expect(token.length).toBeGreaterThan(MOST);
    const { status, text } = await list(header(token));
    expect([status, JSON.parse(text).status]).toEqual([401, 'error']);
    expect(text).not.toContain(token.slice(0, 40));
  });
});

it.each([
  ['other', 403, "JOBS_MISMATCHED_TENANT 'jdoe' is not associated with organization 'other'"],
  ['gone', 404, "ALOE_TENANT_NOT_FOUND organization 'gone' does not exist."],
])('somebody who asks in tenant %s, which is not theirs, is told so (sheet §1.3, §8.2)', async (name, ...said) => {
  const { status, message } = await front.send({ at: `/organizations/${name}/jobs/v2` });
  expect([status, message]).toEqual(said);
});

it('a token that names no user is no login (sheet §1.3)', async () => {
  const token = await issue(gateway, front.clock.now(), { 'http://wso2.org/claims/enduserTenantId': 'default' });
  const { status, text } = await list({ 'x-jwt-assertion-default': token });
  expect([status, JSON.parse(text).message]).toEqual([
    401,
    expect.stringMatching(/^ALOE_SECURITY_JWT_DECODE_ERROR .*user/),
  ]);
});
