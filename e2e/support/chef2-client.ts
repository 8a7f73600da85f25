import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { curveKeyPair, Dealer, Subscriber } from 'zeromq';
import { ApiClient, type Reply } from './api-client.js';
import type { SigningVersion } from './chef-signing.js';
import {
  acceptable,
  type CommittedJob,
  lookUp,
  type RunningCommand,
  start,
  takeLock,
  type Whitelist,
  type WhitelistEntry,
} from './chef2-command.js';
import { type Body, genuine, hmacHeader, openSessionKey } from './chef2-wire.js';
import { until } from './until.js';

/** `ack_commit` given, command running, or neither (sheet §6.4). */
export type Chef2State = 'idle' | 'committed' | 'running';

/** Server messages an agent reacts to. */
export type Chef2Order = 'commit' | 'run' | 'abort' | 'ack';

/**
 * Called in place of the agent's own reaction; returning true lets that reaction follow. This is how the acceptance
 * cases misbehave.
 */
export type Hook = (message: Body, node: Chef2Node) => boolean;

export interface Chef2Options {
  readonly serverUrl: string;
  readonly org: string;
  readonly node: string;
  readonly privateKey: string;
  readonly whitelist: Whitelist;
  readonly signingVersion?: SigningVersion;
  readonly fileDir?: string;
}

interface Config {
  readonly push_jobs: {
    readonly heartbeat: {
      readonly out_addr: string;
      readonly command_addr: string;
      readonly interval: number;
      readonly offline_threshold: number;
      readonly online_threshold: number;
    };
  };
  readonly public_key: string;
  readonly curve_public_key: string;
  readonly encoded_session_key: { readonly method: string; readonly key: string };
  readonly max_message_skew: number;
  readonly incarnation_id: string;
}

/** Sockets of one configuration; a reconfigured agent opens new ones. */
interface Connection {
  readonly dealer: Dealer;
  readonly subscriber: Subscriber;
  readonly sessionKey: Uint8Array;
  readonly config: Config;
  sequence: number;
  sending: Promise<void>;
  open: boolean;
}

/**
 * A Push Jobs 2.0 node, written from the reference sheet §2-§6 alone: it shares no code with the product, so that
 * deployed agents are stood for by something the product did not write.
 */
export class Chef2Node {
  readonly name: string;
  readonly hooks: Partial<Record<Chef2Order, Hook>> = {};
  /** Every genuine message from the server, in order, heartbeats apart. */
  readonly received: Body[] = [];
  /** Every message sent, in order. */
  readonly sent: Body[] = [];
  /** Frames that failed the checks of sheet §3.6. */
  rejected = 0;
  serverBeats = 0;
  reconfigured = 0;
  readonly incarnation = randomUUID();
  state: Chef2State = 'idle';
  job: CommittedJob | null = null;
  command: RunningCommand | null = null;

  readonly #options: Chef2Options;
  readonly #api: ApiClient;
  /** One pair for the agent's whole life (sheet §2.5). */
  readonly #curve = curveKeyPair();
  #connection: Connection | null = null;
  #ticker: NodeJS.Timeout | undefined;
  #online = true;
  #missed = 0;
  #heard = 0;
  #entry: WhitelistEntry | undefined;
  #lock: string | null = null;
  #serverIncarnation = '';
  #reconfiguring = false;
  #stopped = false;

  constructor(options: Chef2Options) {
    this.name = options.node;
    this.#options = options;
    this.#api = new ApiClient(options.serverUrl, { name: options.node, privateKey: options.privateKey }, options.org);
  }

  get jobId(): string | null {
    return this.job?.id ?? null;
  }

  /** The signed configuration request (sheet §2.1). */
  configure(): Promise<Reply> {
    const ccpk = encodeURIComponent(this.#curve.publicKey);
    return this.#api.get(`pushy/config/${this.name}?ccpk=${ccpk}&version=2.0`, {
      ...(this.#options.signingVersion === undefined ? {} : { version: this.#options.signingVersion }),
    });
  }

  /** Fetches the configuration, connects, and heartbeats from then on. */
  async start(): Promise<void> {
    await this.#connect();
    this.#beat();
    const config = this.#connection?.config;
    if (config === undefined) return;
    this.#ticker = setInterval(() => this.#tick(), config.push_jobs.heartbeat.interval * 1000);
  }

  /** As TERM: whatever runs is dropped without a message (sheet §6.4). */
  stop(): void {
    this.#stopped = true;
    clearInterval(this.#ticker);
    this.command?.kill();
    this.#unlock();
    this.#close();
  }

  /** Sends any message, also one that makes no sense, with any time. */
  send(type: string, fields: Body = {}): void {
    const connection = this.#connection;
    if (connection === null || !connection.open) return;
    connection.sequence += 1;
    const message: Body = {
      node: this.name,
      client: hostname(),
      protocol_version: '2.0',
      org: this.#options.org,
      type,
      sequence: connection.sequence,
      timestamp: new Date().toUTCString(),
      incarnation_id: this.incarnation,
      job_id: null,
      ...fields,
    };
    this.sent.push(message);
    const body = Buffer.from(JSON.stringify(message));
    this.sendFrames([hmacHeader(body, connection.sessionKey), body]);
  }

  /** Sends frames as they are, signed or not. */
  sendFrames(frames: readonly (string | Uint8Array)[]): void {
    const connection = this.#connection;
    if (connection === null) return;
    // One send at a time per socket; a closed socket takes nothing more.
    connection.sending = connection.sending
      .then(() => (connection.open ? connection.dealer.send(frames.map((frame) => Buffer.from(frame))) : undefined))
      .catch(() => undefined);
  }

  /** Messages of this type received so far. */
  got(type: string): readonly Body[] {
    return this.received.filter((message) => message.type === type);
  }

  sentTypes(): string[] {
    return this.sent.map((message) => String(message.type)).filter((type) => type !== 'heartbeat');
  }

  async waitFor(type: Chef2Order, count = 1): Promise<Body> {
    return until(`${this.name} to receive ${type}`, () => this.got(type)[count - 1]);
  }

  async waitState(state: Chef2State): Promise<void> {
    await until(`${this.name} to be ${state}`, () => this.state === state);
  }

  /** Fetches the configuration again and reopens the sockets; the job survives (sheet §5.5). */
  async reconfigure(): Promise<void> {
    this.#close();
    await this.#connect();
    this.reconfigured += 1;
    this.#beat();
  }

  async #connect(): Promise<void> {
    const reply = await this.configure();
    if (reply.status !== 200) throw new Error(`Could not download push jobs config: ${reply.status} ${reply.text}`);
    const config = reply.json as Config;
    const subscriber = new Subscriber({ linger: 0 });
    const dealer = new Dealer({
      linger: 0,
      receiveHighWaterMark: 0,
      sendHighWaterMark: 3,
      curveServerKey: config.curve_public_key,
      curvePublicKey: this.#curve.publicKey,
      curveSecretKey: this.#curve.secretKey,
    });
    const connection: Connection = {
      dealer,
      subscriber,
      config,
      sessionKey: openSessionKey(config.encoded_session_key.key, this.#options.privateKey),
      sequence: 0,
      sending: Promise.resolve(),
      open: true,
    };
    subscriber.subscribe();
    subscriber.connect(config.push_jobs.heartbeat.out_addr);
    dealer.connect(config.push_jobs.heartbeat.command_addr);
    this.#connection = connection;
    this.#serverIncarnation = config.incarnation_id;
    this.#online = true;
    this.#missed = 0;
    void this.#receive(connection, subscriber);
    void this.#receive(connection, dealer);
  }

  async #receive(connection: Connection, socket: Dealer | Subscriber): Promise<void> {
    try {
      for await (const frames of socket) {
        if (!connection.open) return;
        const [header, body] = frames;
        if (frames.length !== 2 || header === undefined || body === undefined) {
          this.rejected += 1;
          continue;
        }
        if (!genuine(header.toString(), body, connection.sessionKey, connection.config.public_key)) {
          this.rejected += 1;
          continue;
        }
        const message = JSON.parse(body.toString('utf8')) as Body;
        const ahead = Date.parse(String(message.timestamp)) - Date.now();
        if (!(ahead <= connection.config.max_message_skew * 1000)) {
          this.rejected += 1;
          continue;
        }
        this.#react(message);
      }
    } catch {
      // the socket was closed
    }
  }

  #react(message: Body): void {
    if (message.type === 'heartbeat') {
      this.#serverBeat(message);
      return;
    }
    this.received.push(message);
    if (this.#stopped) return;
    const order = message.type;
    if (order !== 'commit' && order !== 'run' && order !== 'abort' && order !== 'ack') return;
    const hook = this.hooks[order];
    if (hook === undefined || hook(message, this)) this.comply(message);
  }

  /** The reaction of a well-behaved agent (sheet §6.4). */
  comply(message: Body): void {
    if (message.type === 'commit') this.#commit(message);
    if (message.type === 'run') this.#run(message);
    if (message.type === 'abort') this.#abort();
  }

  #commit(message: Body): void {
    const { job_id: id, command } = message;
    if (typeof id !== 'string' || typeof command !== 'string') {
      this.send('nack_commit');
      return;
    }
    const job: CommittedJob = {
      id,
      command,
      capture: message.capture === true,
      user: message.user as string | undefined,
      dir: message.dir as string | undefined,
      env: (message.env ?? {}) as Record<string, string>,
      file: message.file as string | undefined,
    };
    const entry = lookUp(this.#options.whitelist, command);
    const lock = typeof entry === 'object' && 'lock' in entry ? entry.lock : null;
    const refused = this.state !== 'idle' || entry === undefined || !acceptable(job);
    if (refused || (lock !== null && !takeLock(lock))) {
      this.send('nack_commit', { job_id: id });
      return;
    }
    this.state = 'committed';
    this.job = job;
    this.#entry = entry;
    this.#lock = lock;
    this.send('ack_commit', { job_id: id });
  }

  #run(message: Body): void {
    const job = this.job;
    if (this.state !== 'committed' || job === null || this.#entry === undefined || job.id !== message.job_id) {
      this.send('nack_run', { job_id: message.job_id ?? null });
      return;
    }
    this.state = 'running';
    this.#unlock();
    const fileDir = this.#options.fileDir ?? join(tmpdir(), 'pushy');
    const command = start(this.#entry, job, this.name, fileDir);
    this.command = command;
    this.send('ack_run', { job_id: job.id });
    void command.ended.then((end) => {
      if (this.command !== command || this.#stopped) return;
      this.#idle();
      this.send(end.status === 0 ? 'succeeded' : 'failed', {
        job_id: job.id,
        ...(job.capture ? { stdout: end.stdout, stderr: end.stderr } : {}),
      });
    });
  }

  #abort(): void {
    const dropped = this.jobId;
    this.command?.kill();
    this.#idle();
    this.send('aborted', { job_id: dropped });
  }

  #idle(): void {
    this.#unlock();
    this.state = 'idle';
    this.job = null;
    this.command = null;
  }

  #unlock(): void {
    if (this.#lock !== null) rmSync(this.#lock, { force: true });
    this.#lock = null;
  }

  #beat(): void {
    this.send('heartbeat', { job_state: this.state, job_id: this.jobId });
  }

  /** Every interval: judge the server, send if it is online (sheet §5.3). */
  #tick(): void {
    const connection = this.#connection;
    if (connection === null) return;
    if (this.#online && this.#missed > connection.config.push_jobs.heartbeat.offline_threshold) {
      this.#online = false;
      this.#heard = 0;
    } else this.#missed += 1;
    if (this.#online) this.#beat();
    if (this.#serverIncarnation !== connection.config.incarnation_id) void this.#follow();
  }

  #serverBeat(message: Body): void {
    this.serverBeats += 1;
    this.#missed = 0;
    const threshold = this.#connection?.config.push_jobs.heartbeat.online_threshold ?? 0;
    if (!this.#online && this.#heard > threshold) this.#online = true;
    else this.#heard += 1;
    this.#serverIncarnation = String(message.incarnation_id);
  }

  /** A restarted server: reconfigure, but not while a job runs (sheet §5.5). */
  async #follow(): Promise<void> {
    if (this.#reconfiguring || this.state !== 'idle') return;
    this.#reconfiguring = true;
    try {
      await this.reconfigure();
    } catch {
      // the server is not ready yet; the next tick tries again
    }
    this.#reconfiguring = false;
  }

  #close(): void {
    const connection = this.#connection;
    if (connection === null || !connection.open) return;
    connection.open = false;
    connection.dealer.close();
    connection.subscriber.close();
  }
}
