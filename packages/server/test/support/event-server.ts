import { signLogin } from '@muster/signing';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { EventClient } from '../../../platform/test/support/event-client.js';
import { sharedKey } from '../../../platform/test/support/personas.js';
import type { Client } from '../../../platform/test/support/signed-client.js';
import { startTestServer, type TestServer } from './test-server.js';

export const ORG = '/organizations/default';

/** Answer of `GET /organizations/ORG/events`. */
export interface Where {
  readonly stomp: string;
  readonly websocket: string;
  readonly position: number;
}

/**
 * A server for the tests of one file, with users `alice` and `bob`, node `web1` and service `relay`, who all have the
 * shared key. Clients are closed after each test.
 */
export interface EventServer {
  readonly server: TestServer;
  /** Signs as the first admin. */
  readonly api: Client;
  restart(): Promise<void>;
  create(path: string, name: string, more?: object): Promise<void>;
  where(): Promise<Where>;
  /** An access token of a user. */
  token(user: string): Promise<string>;
  connect(login: string, passcode: string, url?: string): Promise<EventClient>;
  /** Logged in with a token. */
  as(user: string, org?: string): Promise<EventClient>;
  /** A passcode that is good once. */
  signature(login: string): string;
  /** Logged in with the shared key. */
  signed(login: string): Promise<EventClient>;
  /** The group is there during the work, and leaves the organization as it was. */
  withGroup(name: string, members: object, work: () => Promise<void>): Promise<void>;
}

export function useEventServer(): EventServer {
  const { publicKey, privateKey } = sharedKey();
  const open: EventClient[] = [];
  let server: TestServer;
  let signatures = 0;

  const events: EventServer = {
    get server() {
      return server;
    },
    get api() {
      return server.api;
    },
    restart: () => server.restart(),
    async create(path, name, more = {}) {
      const made = await server.api.post(path, { name, public_key: publicKey, ...more });
      expect(made.status, made.text).toBe(201);
    },
    where: async () => (await server.api.get(`${ORG}/events`)).body as Where,
    async token(user) {
      return ((await server.api.post('/access_tokens', { user })).body as { token: string }).token;
    },
    async connect(login, passcode, url) {
      const client = await EventClient.login(url ?? (await events.where()).stomp, login, passcode);
      open.push(client);
      return client;
    },
    as: async (user, org = 'default') => events.connect(`${org}/${user}`, await events.token(user)),
    signature(login) {
      signatures += 1;
      const nonce = signatures.toString(16).padStart(32, '0');
      return signLogin({ login, timestampMs: Date.now(), nonce }, privateKey);
    },
    signed: (login) => events.connect(login, events.signature(login)),
    async withGroup(name, members, work) {
      await server.api.put(`${ORG}/groups/${name}`, members);
      try {
        await work();
      } finally {
        await server.api.delete(`${ORG}/groups/${name}`);
      }
    },
  };

  beforeAll(async () => {
    server = await startTestServer();
    await events.create('/users', 'alice', { organization: 'default' });
    await events.create('/users', 'bob', { organization: 'default' });
    await events.create(`${ORG}/nodes`, 'web1');
    await events.create(`${ORG}/services`, 'relay');
  });
  afterEach(async () => {
    for (const client of open.splice(0)) await client.close();
  });
  afterAll(() => server.stop());
  return events;
}
