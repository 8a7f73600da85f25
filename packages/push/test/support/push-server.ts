import type { AddressInfo } from 'node:net';
import type { ManualClock } from '@muster/base';
import {
  type Attributes,
  type NodeListener,
  type NodeMessage,
  type NodeRegistry,
  type NodeView,
  searchNodes,
} from '@muster/nodes';
import { type Auth, createAuth, type Organization } from '@muster/platform/auth';
import { type ServerConfig, ServerConfigSchema } from '@muster/platform/config';
import { createApp, EventStreams, type SeatLimits } from '@muster/platform/http';
import type { Base } from '@muster/platform/layers';
import { Metrics } from '@muster/platform/metrics';
import { openSecretProviders, SealingKey, Secrets, secretRoutes } from '@muster/platform/secrets';
import { firstServerKey, type KeyPair, signRequest } from '@muster/signing';
import type { ServerMessage } from '@muster/wire';
import { pino } from 'pino';
import { Value } from 'typebox/value';
import { DECLARED } from '../../../platform/test/support/layers.js';
import { ME } from '../../../platform/test/support/personas.js';
import { openRecorder } from '../../../platform/test/support/recorder.js';
import { openTestStore, type TestStore } from '../../../platform/test/support/test-store.js';
import { madeKey } from '../../../signing/test/support/made-keys.js';
import { pushRoutes, runbooksRoutes } from '../../src/http.js';
import { createPush } from '../../src/layer.js';
import { createRunbooks } from '../../src/runbooks/layer.js';

/**
 * The HTTP side of push jobs with a real store, gate and controller. Only the nodes are played: each does what its
 * part says when it is asked.
 */

export type Part =
  /** Does not heartbeat. */
  | 'down'
  | 'succeed'
  | 'fail'
  /** Refuses to commit. */
  | 'refuse'
  /** Commits and starts, and then waits for `play`. */
  | 'run'
  /** Never answers. */
  | 'silent';

interface PlayedNode {
  readonly view: NodeView;
  part: Part;
  /** What it was last asked to prepare. */
  jobId: string | null;
}

/** Nodes of the default organization. */
class PlayedNodes implements NodeRegistry {
  readonly #nodes = new Map<string, PlayedNode>();
  readonly #listeners: Partial<NodeListener>[] = [];
  readonly sent: { node: string; message: ServerMessage }[] = [];

  enter(orgId: string, name: string, part: Part, facts: Readonly<Record<string, string>> = {}): void {
    const known = this.#nodes.get(name);
    if (known !== undefined && known.view.status === 'up') {
      known.part = part;
      return;
    }
    const view: NodeView = {
      org: { id: orgId, name: 'default' },
      name,
      createdAt: 0,
      via: 'agent',
      status: part === 'down' ? 'down' : 'up',
      statusAt: 0,
      reason: '',
      incarnation: null,
      lastEnd: null,
      dialect: 'native',
      facts,
      labels: {},
      heardAt: null,
      stoppedAt: null,
      state: null,
      peer: null,
    };
    this.#nodes.set(name, { view, part, jobId: null });
    if (part !== 'down') for (const listener of this.#listeners) listener.up?.(view);
  }

  /** The node is of another kind. */
  speak(name: string, dialect: NodeView['dialect']): void {
    const node = this.#nodes.get(name);
    if (node !== undefined) Object.assign(node.view, { dialect });
  }

  /** The node sends something of its own accord. */
  play(name: string, message: NodeMessage): void {
    const node = this.#nodes.get(name);
    if (node !== undefined) for (const listener of this.#listeners) listener.message?.(node.view, message);
  }

  get(orgId: string, name: string): NodeView | undefined {
    const node = this.#nodes.get(name);
    return node?.view.org.id === orgId ? node.view : undefined;
  }

  list(orgId: string): readonly NodeView[] {
    return [...this.all()].filter(({ org }) => org.id === orgId);
  }

  *all(): Iterable<NodeView> {
    for (const { view } of this.#nodes.values()) yield view;
  }

  attributes(node: NodeView): Attributes {
    return { ...node.facts, name: node.name, status: node.status };
  }

  send(_orgId: string, names: readonly string[], message: ServerMessage): void {
    for (const node of names) {
      this.sent.push({ node, message });
      queueMicrotask(() => this.#answer(node, message));
    }
  }

  reach(nodes: readonly NodeView[], message: ServerMessage): readonly NodeView[] {
    for (const { name } of nodes) queueMicrotask(() => this.#answer(name, message));
    return nodes;
  }

  async persist(): Promise<boolean> {
    return true;
  }

  listen(listener: Partial<NodeListener>): void {
    this.#listeners.push(listener);
  }

  show(): void {}

  #answer(name: string, message: ServerMessage): void {
    const node = this.#nodes.get(name);
    if (node === undefined) return;
    const { part } = node;
    if (message.type === 'prepare') {
      const { jobId } = message;
      node.jobId = jobId;
      if (part === 'refuse') this.play(name, { type: 'nack', jobId, reason: 'not allowed', currentJobId: null });
      else if (part !== 'silent') this.play(name, { type: 'ack', jobId });
    }
    if (message.type === 'start') {
      const { jobId } = message;
      this.play(name, { type: 'started', jobId });
      if (part !== 'run') this.play(name, finished(jobId, part === 'fail' ? 'failed' : 'succeeded'));
    }
    if (message.type === 'abort') {
      this.play(name, { type: 'aborted', jobId: node.jobId, from: 'running', settled: true });
      node.jobId = null;
    }
  }
}

export function finished(
  jobId: string,
  outcome: 'succeeded' | 'failed',
  bytes: { readonly stdout: number; readonly stderr: number } | null = null,
): NodeMessage {
  const exitCode = outcome === 'succeeded' ? 0 : 1;
  return { type: 'finished', jobId, outcome, exitCode, signal: null, reason: null, output: null, bytes };
}

/** Sheet §9.1; `grantee` holds EXECUTE on the node group `granted` and nothing else. */
export const PERSONAS = {
  'admin user': 'admin',
  'normal user': 'normal',
  'outside user': 'outside',
  'invalid user': 'invalid',
  'admin client': 'admin-client',
  'member client': 'member-client',
  'bogus client': 'bogus',
  grantee: 'grantee',
  /** Administers the organization `elsewhere`. */
  'other admin': 'other-admin',
} as const;

export type Persona = keyof typeof PERSONAS;

export interface Request {
  readonly method?: string;
  readonly path: string;
  /** Sent as JSON, or as it is when it is a string. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly as?: Persona;
  /** In the place of a persona: anybody's name, with the key that all have. */
  readonly user?: string;
  /** In the place of a signature. */
  readonly token?: string;
  readonly signal?: AbortSignal;
}

export interface PushServer {
  readonly clock: ManualClock;
  readonly nodes: PlayedNodes;
  readonly auth: Auth;
  readonly org: Organization;
  readonly test: TestStore;
  readonly url: string;
  /** A signed request below /organizations/default/pushy, unless the path begins with `/`. */
  send(request: Request): Promise<Response>;
  /** Starts a job as admin and returns its id. */
  start(body: Readonly<Record<string, unknown>>): Promise<string>;
  /** Reads the job's feed to its end. */
  events(id: string, headers?: Readonly<Record<string, string>>): Promise<ReadEvent[]>;
  /** Waits for the end of the job and returns it. */
  finish(id: string, query?: string): Promise<Record<string, unknown>>;
  close(): Promise<void>;
}

export interface ReadEvent {
  readonly event: string;
  readonly id: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export const keys: KeyPair = madeKey(0);
export const stranger: KeyPair = madeKey(1);

export async function startPushServer(
  settings: Record<string, unknown> = {},
  limits?: SeatLimits,
): Promise<PushServer> {
  const test = await openTestStore();
  const { store, clock } = test;
  const config: ServerConfig = Value.Parse(ServerConfigSchema, Value.Default(ServerConfigSchema, settings));
  const nodes = new PlayedNodes();
  const metrics = new Metrics();
  const logger = pino({ level: 'silent' });
  let ids = 0;
  const recorder = await openRecorder(store, clock);
  const auth = createAuth({
    store,
    recorder,
    clock,
    random: (size) => crypto.getRandomValues(new Uint8Array(size)),
    selection: {
      select: (orgId, query) => searchNodes(nodes, nodes.list(orgId), query).map((node) => node.name),
      check: (query) => void searchNodes(nodes, [], query),
    },
    serverKeys: firstServerKey(keys),
    sealing: SealingKey.of(new Uint8Array(32)),
    auditFailed: (error) => {
      throw error;
    },
    rights: DECLARED.rights,
    incarnation: 'test',
    standingFailed: (error) => {
      throw error;
    },
  });
  const org = await createPersonas(auth);
  const streams = new EventStreams({ clock, metrics, ...(limits && { limits }) });
  const base: Base = {
    store,
    recorder,
    clock,
    logger,
    metrics,
    config,
    incarnation: 'test',
    serverName: 'test',
    random: (size) => {
      const bytes = new Uint8Array(size);
      new DataView(bytes.buffer).setUint32(size - 4, ++ids);
      return bytes;
    },
  };
  const providers = openSecretProviders(config, base);
  const secrets = new Secrets({ store, auth, key: SealingKey.of(new Uint8Array(32)), providers });
  const push = createPush(base, { nodes, secrets });
  const runbooks = createRunbooks(base, { auth, push });
  const app = await createApp({
    auth,
    clock,
    logger,
    metrics,
    status: () => ({
      incarnation: 'test',
      startedAt: 0,
      now: clock.now(),
      store: { ok: true },
      nodes: 0,
      jobs: push.controller.liveJobs(),
      eventClients: 0,
    }),
    version: '0',
    bodyLimit: config.http.body_limit,
    trustedProxies: ['127.0.0.1'],
    routes: [
      pushRoutes(base, push, { auth, streams, runbooks }),
      runbooksRoutes(runbooks, { auth }),
      (app) => secretRoutes(app, { secrets, providers }),
    ],
    checkAnswers: true,
  });
  await push.load?.();
  await push.start?.();
  runbooks.start();
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;

  const send = async (request: Request): Promise<Response> => {
    const { method = 'GET', as = 'admin user' } = request;
    const path = request.path.startsWith('/') ? request.path : `/organizations/default/pushy/${request.path}`;
    const { body: given } = request;
    const body = given === undefined ? '' : typeof given === 'string' ? given : JSON.stringify(given);
    const signed = signRequest({
      method,
      path,
      body,
      userId: request.user ?? PERSONAS[as],
      timestamp: clock.now(),
      privateKey: as === 'bogus client' ? stranger.privateKey : keys.privateKey,
      version: '1.3',
      signQuery: true,
    });
    const proof = request.token === undefined ? signed : { authorization: `Bearer ${request.token}` };
    return fetch(url + path, {
      method,
      headers: { ...proof, ...(body === '' ? {} : { 'content-type': 'application/json' }), ...request.headers },
      ...(body === '' ? {} : { body }),
      ...(request.signal === undefined ? {} : { signal: request.signal }),
    });
  };
  const events = async (id: string, headers: Readonly<Record<string, string>> = {}): Promise<ReadEvent[]> => {
    const response = await send({ path: `job_status_feed/${id}`, headers });
    if (response.status !== 200) throw new Error(`feed: ${response.status} ${await response.text()}`);
    return parseEvents(await response.text());
  };
  return {
    clock,
    nodes,
    auth,
    org,
    test,
    url,
    send,
    events,
    start: async (body) => {
      const response = await send({ method: 'POST', path: 'jobs', body });
      const answer = (await response.json()) as { id: string };
      if (response.status !== 201) throw new Error(`POST jobs: ${response.status} ${JSON.stringify(answer)}`);
      return answer.id;
    },
    finish: async (id, query = '') => {
      await events(id);
      return (await (await send({ path: `jobs/${id}${query}` })).json()) as Record<string, unknown>;
    },
    close: async () => {
      await runbooks.stop();
      await push.stop();
      streams.shutdown();
      await app.close();
      await test.close();
    },
  };
}

async function createPersonas(auth: Auth): Promise<Organization> {
  const org = await auth.organizations.create('default', ME);
  await auth.organizations.create('elsewhere', ME);
  const user = (name: string, organization: Organization | null, groups: string[], serverAdmin = false) =>
    auth.principals.createUser({ name, publicKey: keys.publicKey, serverAdmin, organization, groups }, ME);
  await user('admin', org, ['admins'], true);
  await user('normal', org, []);
  await user('grantee', org, []);
  await user('outside', null, []);
  for (const name of ['admin-client', 'member-client']) {
    await auth.principals.createClient(org, { type: 'service', name, publicKey: keys.publicKey }, ME);
  }
  await auth.groups.put(org, 'admins', { users: ['admin'], clients: ['admin-client'], groups: [] }, ME);
  const elsewhere = await auth.organizations.require('elsewhere');
  await user('other-admin', elsewhere, ['admins']);
  return org;
}

export function parseEvents(text: string): ReadEvent[] {
  return text
    .split('\n\n')
    .filter((block) => block !== '' && !block.startsWith(':'))
    .map((block) => {
      const field = (name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1] ?? '';
      return { event: field('event'), id: field('id'), data: JSON.parse(field('data')) as Record<string, unknown> };
    });
}
