import { ManualClock } from '@muster/base';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MemoryTransport } from '../../nodes/test/support/nodes-fixture.js';
import type { Personas } from '../../platform/test/support/personas.js';
import { type CallOptions, type Client, type Reply, reply } from '../../platform/test/support/signed-client.js';
import { startTestServer, type TestServer } from './support/test-server.js';

/** Requests as somebody on the way sees them, who repeats them with another query. */

const clock = new ManualClock();
let server: TestServer;
let personas: Personas;

beforeAll(async () => {
  server = await startTestServer({ clock, transport: new MemoryTransport() });
  personas = await server.personas();
});
afterAll(() => server.stop());

const ORG = '/organizations/default';
const OWN_KEY = 'ccpk=1234567890123456789012345678901234567890';
const OTHER_KEY = 'ccpk=0987654321098765432109876543210987654321';

const admin = (): Client => server.api;
const node = (): Client => server.api.as(personas.memberClient);
const configuration = (query: string): string => `${ORG}/pushy/config/${personas.memberClient.name}?${query}`;

/** What the caller has sent, and what goes to the server now, under its headers. */
async function captured(
  caller: Client,
  method: string,
  sent: string,
  replayed: string,
  how: CallOptions = {},
): Promise<Reply> {
  const headers = caller.headers(method, sent, '', how);
  return reply(await fetch(server.url + replayed, { method, headers }));
}

function refusal(answer: Reply): unknown {
  return [answer.status, answer.headers.get('x-muster-error')];
}

describe('a request of our own clients', () => {
  test('is not repeated with another CURVE key', async () => {
    const [sent, replayed] = [configuration(OWN_KEY), configuration(OTHER_KEY)];
    expect((await captured(node(), 'GET', sent, sent)).status).toBe(200);
    expect(refusal(await captured(node(), 'GET', sent, replayed))).toEqual([401, 'unknown_principal']);
  });

  test('is not repeated with a parameter more', async () => {
    const path = `${ORG}/nodes/${personas.memberClient.name}`;
    expect(refusal(await captured(admin(), 'DELETE', path, `${path}?force=true`))).toEqual([401, 'unknown_principal']);
    expect((await admin().get(path)).status).toBe(200);
  });
});

describe('a request that signs no query', () => {
  const old = [{ version: '1.0' }, { version: '1.1' }, { version: '1.3', signQuery: false }] as const;

  test.each(old)('as of deployed clients is understood: %j', async (how) => {
    const sent = configuration(OWN_KEY);
    expect((await captured(node(), 'GET', sent, sent, how)).status).toBe(200);
  });

  test('may be one of two that a client has signed in the same second', async () => {
    for (const query of [OWN_KEY, OTHER_KEY]) {
      const sent = configuration(query);
      expect((await captured(node(), 'GET', sent, sent, { version: '1.1' })).status).toBe(200);
    }
  });

  test.each(old)('has no parameter but those that deployed clients send: %j', async (how) => {
    const path = `${ORG}/nodes/${personas.memberClient.name}`;
    const answer = await captured(admin(), 'DELETE', path, `${path}?force=true`, how);
    expect(refusal(answer)).toEqual([401, 'query_not_signed']);
    expect(answer.text).toContain("The query parameter 'force' is not covered by the signature");
    expect(refusal(await captured(admin(), 'GET', `${ORG}/nodes`, `${ORG}/nodes?q=web`, how))).toEqual([
      401,
      'query_not_signed',
    ]);
  });

  test.each(old)('is not repeated with another CURVE key later: %j', async (how) => {
    const [sent, replayed] = [configuration(OWN_KEY), configuration(OTHER_KEY)];
    clock.advance(1000);
    const headers = node().headers('GET', sent, '', how);
    const ask = async (path: string): Promise<Reply> => reply(await fetch(server.url + path, { headers }));
    expect((await ask(sent)).status).toBe(200);
    clock.advance(2000);
    expect(refusal(await ask(replayed))).toEqual([401, 'query_changed']);
    // The same bytes, written in another way.
    const written = headers['X-Ops-Authorization-1'] ?? '';
    headers['X-Ops-Authorization-1'] = `${written.slice(0, 30)}\t${written.slice(30)}`;
    expect(refusal(await ask(replayed))).toEqual([401, 'query_changed']);
    expect((await ask(sent)).status).toBe(200);
  });
});
