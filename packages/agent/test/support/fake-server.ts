import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ErrorCode } from '@muster/base';
import { type KeyPair, readSignedHeaders, verifyRequest } from '@muster/signing';
import {
  type AgentEnvelope,
  type AgentMessage,
  claimedSender,
  Dropped,
  dialects,
  encodeServerHeartbeat,
  encryptSessionKey,
  newSessionKey,
  type ServerMessage,
  type Session,
  z85Encode,
} from '@muster/wire';
import { curveKeyPair, Publisher, Reply, Router } from 'zeromq';
import { serverKeyPair } from '../../../signing/test/support/made-keys.js';

export type Received = { readonly message: AgentMessage; readonly envelope: AgentEnvelope };

export interface FakeServerOptions {
  readonly interval?: number;
  readonly outputLimit?: number;
  /** Publishes heartbeats by itself. */
  readonly beating?: boolean;
}

const codec = dialects.native;
const skew = { maxSkewMs: 300_000 };

/** The server side of the native protocol over real sockets: HTTP, PUB, ROUTER with CURVE and ZAP. */
export class FakeServer {
  readonly received: Received[] = [];
  readonly requests: string[] = [];
  incarnation: string = randomUUID();
  /** Answers configuration requests and enrolments with this instead. */
  refuse: { status: number; error: string } | null = null;
  /** The same, of enrolments only. */
  refuseEnrolment: { status: number; error: string } | null = null;
  /** Loses the answer to the next enrolment, which is carried out. */
  loseEnrolment = false;
  /** Knows no such node, until it enrols. */
  removed = false;
  /** Acknowledges output. */
  storing = true;
  /** Says welcome to a new connection. */
  welcoming = true;
  /** Lets keys in that asked for a configuration. */
  admitting = true;
  nodeKey: string | null = null;
  readonly #options: Required<FakeServerOptions>;
  readonly #keys: KeyPair;
  #curve = curveKeyPair();
  readonly #http: Server;
  #router: Router;
  #publisher: Publisher;
  readonly #zap: Reply;
  readonly #admitted = new Set<string>();
  #session: Session | null = null;
  #identity: Buffer | null = null;
  #sequence = 0;
  #sending: Promise<void> = Promise.resolve();
  #publishing: Promise<void> = Promise.resolve();
  #watchers = new Set<() => void>();
  #beat: NodeJS.Timeout | null = null;
  #heartbeatAddress = '';
  #commandAddress = '';
  url = '';
  /** Fingerprint of the key that its status page says it has; null: it says none. */
  saysKey: string | null = null;

  static async start(options: FakeServerOptions = {}): Promise<FakeServer> {
    const server = new FakeServer(options, serverKeyPair());
    await server.#listen();
    return server;
  }

  private constructor(options: FakeServerOptions, keys: KeyPair) {
    this.#options = { interval: 0.1, outputLimit: 10_485_760, beating: true, ...options };
    this.#keys = keys;
    this.#http = createServer((request, response) => void this.#answer(request, response));
    this.#zap = new Reply({ linger: 0 });
    this.#router = this.#newRouter();
    this.#publisher = new Publisher({ linger: 0 });
  }

  #newRouter(): Router {
    return new Router({
      linger: 0,
      mandatory: true,
      handover: true,
      curveServer: true,
      curveSecretKey: this.#curve.secretKey,
      zapDomain: 'muster',
    });
  }

  async #listen(): Promise<void> {
    await untilBound(this.#zap, 'inproc://zeromq.zap.01');
    void this.#admit();
    await this.#router.bind('tcp://127.0.0.1:*');
    this.#commandAddress = this.#router.lastEndpoint ?? '';
    await this.#publisher.bind('tcp://127.0.0.1:*');
    this.#heartbeatAddress = this.#publisher.lastEndpoint ?? '';
    void this.#receive(this.#router);
    await new Promise<void>((resolve) => this.#http.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
    if (this.#options.beating) this.startBeating();
  }

  startBeating(): void {
    this.#beat ??= setInterval(() => this.beat(), this.#options.interval * 1000);
  }

  stopBeating(): void {
    if (this.#beat !== null) clearInterval(this.#beat);
    this.#beat = null;
  }

  beat(): void {
    const now = Date.now();
    const beat = { server: 'fake', incarnation: this.incarnation, sequence: this.#sequence++, now };
    const frames = encodeServerHeartbeat(beat, this.#keys.privateKey);
    this.#publishing = this.#publishing.then(() => this.#publisher.send([...frames])).catch(() => undefined);
  }

  async #admit(): Promise<void> {
    for await (const [version, id, , , , , key] of this.#zap) {
      const admitted = this.admitting && key !== undefined && this.#admitted.has(z85Encode(key));
      const verdict = admitted ? ['200', ''] : ['400', 'No such client'];
      await this.#zap.send([version ?? '', id ?? '', ...verdict, '', '']);
    }
  }

  async #receive(router: Router): Promise<void> {
    try {
      for await (const [identity, header, body] of router) {
        if (identity === undefined || header === undefined || body === undefined) continue;
        this.#take(identity, header, body);
      }
    } catch (error) {
      if (!router.closed) throw error;
    }
  }

  #take(identity: Buffer, header: Buffer, body: Buffer): void {
    if (claimedSender(body) === null || this.#session === null) return;
    try {
      const opened = codec.openAgent(header, body, this.#session, { now: Date.now(), ...skew });
      const known = this.#identity?.equals(identity) ?? false;
      this.#identity = identity;
      if (!known && this.welcoming) this.send({ type: 'welcome' });
      this.received.push(opened);
      const { message } = opened;
      if (message.type === 'output' && this.storing) {
        const { jobId, stream, offset, data } = message;
        this.send({ type: 'output_stored', jobId, stream, offset: offset + data.length });
      }
      if (message.type === 'task_output' && this.storing) {
        const { id, attempt, stream, offset, data } = message;
        this.send({ type: 'task_output_stored', id, attempt, stream, offset: offset + data.length });
      }
      for (const watcher of this.#watchers) watcher();
    } catch (error) {
      if (!(error instanceof Dropped)) throw error;
    }
  }

  send(message: ServerMessage): void {
    const encoded = codec.encodeServer(message, { server: 'fake', now: Date.now() });
    if (encoded === null || this.#session === null || this.#identity === null) return;
    const frames = codec.sealServer(encoded, this.#session);
    const identity = this.#identity;
    const router = this.#router;
    this.#sending = this.#sending.then(() => router.send([identity, ...frames])).catch(() => undefined);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const reply = (status: number, body: unknown, code?: ErrorCode) => {
      response.writeHead(status, {
        'content-type': 'application/json',
        ...(code !== undefined && { 'x-muster-error': code }),
      });
      response.end(JSON.stringify(body));
    };
    const path = request.url ?? '';
    this.requests.push(`${request.method} ${path.split('?')[0]}`);
    for (const watcher of this.#watchers) watcher();
    const { saysKey: fingerprint } = this;
    if (path === '/_status')
      return reply(200, { status: "it's alive", ...(fingerprint !== null && { server_key: { fingerprint } }) });
    if (this.refuse !== null) return reply(this.refuse.status, { error: [this.refuse.error] });
    if (path.endsWith('/enroll')) {
      const { refuseEnrolment: refused } = this;
      if (refused !== null) return reply(refused.status, { error: [refused.error] });
      const { public_key: key } = JSON.parse(Buffer.concat(pieces).toString()) as { public_key: string };
      if (!this.removed && this.nodeKey !== null && this.nodeKey !== key) {
        return reply(409, { error: "node 'node1' already exists" }, 'already_exists');
      }
      this.nodeKey = key;
      this.removed = false;
      if (this.loseEnrolment) {
        this.loseEnrolment = false;
        return void response.destroy();
      }
      return reply(201, {});
    }
    const trusted = this.nodeKey;
    if (this.removed || trusted === null || !isSigned(request, path, trusted)) {
      return reply(401, { error: ["Failed to authenticate as 'node1'."] }, 'unknown_principal');
    }
    this.#admitted.add(new URL(path, this.url).searchParams.get('ccpk') ?? '');
    this.#session = { key: newSessionKey(), sent: 0, received: 0 };
    this.#identity = null;
    reply(200, this.#configuration(this.#session, trusted));
  }

  #configuration(session: Session, nodeKey: string) {
    const heartbeat = {
      out_addr: this.#heartbeatAddress,
      command_addr: this.#commandAddress,
      interval: this.#options.interval,
      offline_threshold: 3,
      online_threshold: 2,
    };
    return {
      type: 'config',
      host: 'fake',
      push_jobs: { heartbeat, command_addr: this.#commandAddress },
      node: 'node1',
      organization: 'acme',
      public_key: this.#keys.publicKey,
      curve_public_key: this.#curve.publicKey,
      encoded_session_key: { method: 'hmac_sha256', key: encryptSessionKey(session.key, nodeKey) },
      lifetime: 3600,
      max_message_skew: 300,
      max_body_size: 65_536,
      incarnation_id: this.incarnation,
      output_limit: this.#options.outputLimit,
    };
  }

  /** As after a restart of the server process: new incarnation, CURVE key and sessions, same addresses. */
  async restart(): Promise<void> {
    this.incarnation = randomUUID();
    this.#sequence = 0;
    this.#session = null;
    this.#identity = null;
    this.#curve = curveKeyPair();
    await this.rebind();
  }

  /** Breaks every connection and forgets who may connect, as when admission has run out (sheet §2.5). */
  async rebind(): Promise<void> {
    this.#admitted.clear();
    this.#router.close();
    const next = this.#newRouter();
    await untilBound(next, this.#commandAddress);
    this.#router = next;
    void this.#receive(next);
  }

  /** Resolves with the first message of this type, from `from` on, that fits. */
  async message<T extends AgentMessage['type']>(
    type: T,
    fits: (message: Extract<AgentMessage, { type: T }>) => boolean = () => true,
    from = 0,
  ): Promise<Extract<AgentMessage, { type: T }>> {
    const isIt = (message: AgentMessage): message is Extract<AgentMessage, { type: T }> => message.type === type;
    return this.until(() => {
      for (const { message } of this.received.slice(from)) if (isIt(message) && fits(message)) return message;
      return null;
    });
  }

  /** Resolves once `look`, asked again at everything received, gives something. */
  until<T>(look: () => T | null): Promise<T> {
    return new Promise((resolve) => {
      const watcher = (): void => {
        const found = look();
        if (found === null) return;
        this.#watchers.delete(watcher);
        resolve(found);
      };
      this.#watchers.add(watcher);
      watcher();
    });
  }

  types(): string[] {
    return this.received.map(({ message }) => message.type);
  }

  async stop(): Promise<void> {
    this.stopBeating();
    await Promise.all([this.#sending, this.#publishing]);
    this.#router.close();
    this.#publisher.close();
    this.#zap.close();
    this.#http.closeAllConnections();
    await new Promise((resolve) => this.#http.close(resolve));
  }
}

function isSigned(request: IncomingMessage, path: string, key: string): boolean {
  try {
    const signed = readSignedHeaders(request.headers as Record<string, string>, Date.now());
    return verifyRequest(signed, { method: 'GET', path, body: '' }, key);
  } catch {
    return false;
  }
}

const BIND_WITHIN_MS = 10_000;

/** The old socket lets go of its address a moment after it was closed: later on a machine that is busy. */
async function untilBound(socket: Router | Reply, address: string): Promise<void> {
  const end = Date.now() + BIND_WITHIN_MS;
  for (;;) {
    try {
      return await socket.bind(address);
    } catch (error) {
      if (Date.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}
