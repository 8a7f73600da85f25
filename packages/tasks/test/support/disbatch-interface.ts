import type { AddressInfo } from 'node:net';
import { type Auth, createAuth, type Organization } from '@muster/platform/auth';
import { SealingKey } from '@muster/platform/secrets';
import { firstServerKey } from '@muster/signing';
import { pino } from 'pino';
import { DECLARED } from '../../../platform/test/support/layers.js';
import { ME, sharedKey } from '../../../platform/test/support/personas.js';
import { openRecorder } from '../../../platform/test/support/recorder.js';
import type { Dialect } from '../../src/disbatch/dialect.js';
import { createDisbatchApp, type DisbatchAppDeps } from '../../src/disbatch/http/app.js';
import type { DisbatchSettings } from '../../src/disbatch/interface.js';
import { disbatchRoutes } from '../../src/disbatch/routes/index.js';
import { TASK_RIGHTS } from '../../src/rights.js';
import { MemoryController } from './memory-controller.js';
import { openTaskStore, type TaskStore } from './task-rows.js';

export interface Interface {
  readonly url: string;
  readonly test: TaskStore;
  readonly auth: Auth;
  readonly controller: MemoryController;
  readonly organization: Organization;
  /** A request as it is: method, path, and what `fetch` takes. */
  send(method: string, path: string, init?: RequestInit): Promise<Answer>;
  get(path: string): Promise<Answer>;
  /** As JSON. */
  post(path: string, body: unknown): Promise<Answer>;
  /** As a form, as the command line does. */
  form(path: string, values: Readonly<Record<string, string>>): Promise<Answer>;
  close(): Promise<void>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: what it is depends on the route, which is what is tested
  readonly body: any;
}

export interface Asked {
  readonly dialect?: Dialect;
  readonly settings?: Partial<DisbatchSettings>;
  readonly webRoot?: string;
}

/** The command interface at a listener of its own, over a real store and real identities. */
export async function openInterface({ dialect = '4.0', settings = {}, webRoot }: Asked = {}): Promise<Interface> {
  const test = await openTaskStore();
  const { store, clock } = test;
  const fail = (error: unknown): never => {
    throw error;
  };
  const rights = DECLARED.rights.some(({ rights }) => 'task:read' in rights);
  const auth = createAuth({
    store,
    recorder: await openRecorder(store, clock),
    clock,
    random: (size) => crypto.getRandomValues(new Uint8Array(size)),
    selection: { select: () => [], check: () => {} },
    serverKeys: firstServerKey(sharedKey()),
    sealing: SealingKey.of(new Uint8Array(32)),
    auditFailed: fail,
    standingFailed: fail,
    rights: rights ? DECLARED.rights : [...DECLARED.rights, TASK_RIGHTS],
    incarnation: 'test',
  });
  const organization = await auth.organizations.create('default', ME);
  const controller = new MemoryController(store);
  const deps: DisbatchAppDeps = {
    controller,
    store,
    clock,
    audit: auth.audit,
    present: (one) => auth.organizations.present(one),
    auth,
    logger: pino({ level: 'silent' }),
    organization: 'default',
    webRoot,
    settings: {
      dialect,
      gfs: 'auto',
      monitoring: true,
      balance: { enabled: false, pretend: false },
      indexes: [],
      ...settings,
    },
  };
  const app = await createDisbatchApp(deps, disbatchRoutes(deps));
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const send = async (method: string, path: string, init: RequestInit = {}): Promise<Answer> => {
    const response = await fetch(url + path, { method, ...init });
    const text = await response.text();
    const json = response.headers.get('content-type') === 'application/json' && text !== '';
    return { status: response.status, headers: response.headers, text, body: json ? JSON.parse(text) : undefined };
  };
  return {
    url,
    test,
    auth,
    controller,
    organization,
    send,
    get: (path) => send('GET', path),
    post: (path, body) =>
      send('POST', path, { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    form: (path, values) => send('POST', path, { body: new URLSearchParams(values) }),
    close: async () => {
      await app.close();
      await test.close();
    },
  };
}

/** A user of the organization with an access token. */
export async function userWithToken(
  { auth, organization }: Interface,
  name: string,
  groups: string[],
): Promise<string> {
  const { publicKey } = sharedKey();
  await auth.principals.createUser({ name, publicKey, serverAdmin: false, organization, groups }, ME);
  const { token } = await auth.tokens.createAccessToken({ bearer: { organization: null, name }, ttlSeconds: 3600 }, ME);
  return token;
}
