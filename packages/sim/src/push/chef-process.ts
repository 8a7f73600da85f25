import { createPublicKey, type KeyObject } from 'node:crypto';
import type { CommandSocket, CurveKeys, ReceivingSocket, Sockets } from '@muster/agent';
import type { Timer } from '@muster/base';
import {
  type AgentMessage,
  decryptSessionKey,
  dialects,
  type NodeConfiguration,
  openServerHeartbeat,
  parseNodeConfiguration,
  type ServerMessage,
  type Session,
} from '@muster/wire';
import type { ParsedPair } from '../kernel/keys.js';
import { Process } from '../kernel/timeline.js';
import type { Path } from '../kernel/zeromq/sides.js';
import { simulatedSockets } from '../kernel/zeromq/sockets.js';
import type { AgentWorld } from './agent-process.js';
import type { MachineRoom } from './machine-room.js';
import { askConfiguration } from './node-request.js';

type ChefState =
  | { readonly kind: 'idle' }
  | { readonly kind: 'committed'; readonly jobId: string; readonly command: string }
  | { readonly kind: 'running'; readonly jobId: string; readonly timer: Timer };

const IDLE: ChefState = { kind: 'idle' };
const REQUEST_MS = 5_000;
const RETRY_MS = 3_000;
const IDLE_POLL_MS = 5_000;
/** A client that runs something does not ask again, so one that lost its connection is lost for as long. */
const LONGEST_MS = 20_000;
/** A client that hears nothing on a new connection asks again (sheet §5.5). */
const FIRST_ROUNDS_MS = 4_000;

let incarnations = 0;

/** A deployed client as the reference sheet describes it (§5, §6.4), reduced to what the server can notice. */
export class ChefProcess {
  readonly process: Process;
  readonly node: string;
  readonly #world: AgentWorld;
  readonly #room: MachineRoom;
  readonly #path: Path;
  readonly #keys: ParsedPair;
  readonly #incarnation = `chef-${++incarnations}`;
  readonly #sockets: Sockets;
  readonly #curve: CurveKeys;
  #state: ChefState = IDLE;
  #configuration: NodeConfiguration | null = null;
  #serverKey: KeyObject | null = null;
  #session: Session = { key: new Uint8Array(32), sent: 0, received: 0 };
  #dealer: CommandSocket | null = null;
  #subscriber: ReceivingSocket | null = null;
  #connected = false;
  #asking = false;
  #silent = 0;
  #answered = false;
  #tick: Timer | null = null;
  #lifetime: Timer | null = null;

  constructor(world: AgentWorld, room: MachineRoom, path: Path, keys: ParsedPair, skewMs: number) {
    this.#world = world;
    this.#room = room;
    this.#path = path;
    this.#keys = keys;
    this.node = room.node;
    this.process = new Process(room.node, world.timeline);
    this.process.skewMs = skewMs;
    this.#sockets = simulatedSockets(world.network, this.process, path);
    this.#curve = this.#sockets.curveKeys();
  }

  async start(): Promise<void> {
    await this.#configure();
  }

  async stop(): Promise<void> {
    this.kill();
  }

  kill(): void {
    this.process.die();
    this.#world.network.agentDied(this.process);
    this.#room.powerOff();
  }

  async #configure(): Promise<void> {
    if (this.#asking) return;
    this.#asking = true;
    const { host, network, org, serverOf } = this.#world;
    const { node } = this;
    const request = {
      org,
      node,
      publicKey: this.#keys.publicKey,
      curvePublicKey: this.#curve.publicKey,
      version: '2.0',
    };
    try {
      const json = await network.request(this.process, this.#path, { host, timeoutMs: REQUEST_MS }, (side) =>
        askConfiguration(serverOf(side), request),
      );
      this.#asking = false;
      this.#connect(parseNodeConfiguration(json));
    } catch {
      this.process.clock.after(RETRY_MS, () => {
        this.#asking = false;
        void this.#configure();
      });
    }
  }

  #connect(configuration: NodeConfiguration): void {
    this.#configuration = configuration;
    this.#serverKey = createPublicKey(configuration.public_key);
    const key = decryptSessionKey(configuration.encoded_session_key.key, this.#keys.key);
    this.#session = { key, sent: 0, received: 0 };
    this.#dealer?.close();
    this.#subscriber?.close();
    this.#connected = false;
    const dealer = this.#sockets.deal(configuration, this.#curve, (event) => {
      if (this.#dealer !== dealer) return;
      this.#connected = event === 'connected';
      if (this.#connected) this.#beat();
    });
    this.#dealer = dealer;
    this.#subscriber = this.#sockets.subscribe(configuration);
    void this.#read(dealer, (header, body) => this.#receive(header, body));
    void this.#read(this.#subscriber, (header, body) => this.#hear(header, body));
    this.#answered = false;
    this.#lifetime?.cancel();
    this.#lifetime = this.process.clock.after(FIRST_ROUNDS_MS, () => {
      if (!this.#answered) return this.#configureLater(0);
      this.#lifetime = this.process.clock.after(configuration.lifetime * 1000, () => this.#configureLater(0));
    });
    this.#tick?.cancel();
    this.#tickLater(configuration.push_jobs.heartbeat.interval * 1000);
  }

  #tickLater(intervalMs: number): void {
    this.#tick = this.process.clock.after(intervalMs, () => {
      this.#silent += 1;
      this.#beat();
      this.#tickLater(intervalMs);
    });
  }

  async #read(socket: ReceivingSocket, take: (header: Buffer, body: Buffer) => void): Promise<void> {
    for await (const [header, body] of socket) {
      if (header === undefined || body === undefined) continue;
      try {
        take(header, body);
      } catch {
        // Dropped: it does not verify.
      }
    }
  }

  #hear(header: Buffer, body: Buffer): void {
    const configuration = this.#configuration;
    const serverKey = this.#serverKey;
    if (configuration === null || serverKey === null) return;
    const beat = openServerHeartbeat([header, body], serverKey, { ...this.#limits(), dialect: 'chef2' });
    const returned = this.#silent >= configuration.push_jobs.heartbeat.offline_threshold;
    this.#silent = 0;
    if (!returned && beat.incarnation === configuration.incarnation_id) return;
    const splayMs = this.#world.random.next() * configuration.push_jobs.heartbeat.interval * 1000;
    this.#configureLater(splayMs);
  }

  /**
   * A client asks again between jobs (sheet §5.5). The deployed one also waits while it has only committed, which is
   * for ever when it lost its connection then; nothing a server does can help it, so it is left out.
   */
  #configureLater(ms: number): void {
    this.process.clock.after(ms, () => {
      if (this.#state.kind !== 'running') void this.#configure();
      else this.#configureLater(IDLE_POLL_MS);
    });
  }

  #limits() {
    return { now: this.process.clock.now(), maxSkewMs: 300_000 };
  }

  #beat(): void {
    const state = this.#state;
    const jobId = state.kind === 'idle' ? null : state.jobId;
    const told = ({ idle: 'ready', committed: 'waiting', running: 'running' } as const)[state.kind];
    this.#send({ type: 'heartbeat', state: told, jobId, last: null });
  }

  #send(message: AgentMessage): void {
    if (!this.#connected || this.#dealer === null) return;
    const about = {
      org: this.#world.org,
      node: this.node,
      incarnation: this.#incarnation,
      now: this.process.clock.now(),
    };
    const frames = dialects.chef2.encodeAgent(message, about, this.#session);
    if (frames !== null) this.#dealer.send(frames).catch(() => undefined);
  }

  #receive(header: Buffer, body: Buffer): void {
    const message = dialects.chef2.openServer(header, body, this.#session, this.#limits());
    const state = this.#state;
    this.#answered = true;
    switch (message.type) {
      case 'prepare':
        return this.#prepare(message);
      case 'start':
        if (state.kind !== 'committed' || state.jobId !== message.jobId) {
          return this.#send({ type: 'error', jobId: message.jobId, reason: '' });
        }
        return this.#run(state.jobId, state.command);
      case 'abort':
        if (state.kind === 'running') {
          state.timer.cancel();
          this.#room.powerOff();
        }
        this.#state = IDLE;
        this.#send({
          type: 'aborted',
          jobId: state.kind === 'idle' ? null : state.jobId,
          from: 'ready',
          settled: true,
        });
        return;
      default:
        return;
    }
  }

  #prepare({ jobId, command }: Extract<ServerMessage, { type: 'prepare' }>): void {
    if (this.#state.kind !== 'idle') {
      this.#send({ type: 'nack', jobId, reason: '', currentJobId: null });
      return;
    }
    this.#state = { kind: 'committed', jobId, command };
    this.#room.committed(jobId);
    this.#send({ type: 'ack', jobId });
  }

  #run(jobId: string, command: string): void {
    const [, , ms = '0', status = '0'] = command.split(' ');
    this.#room.begin(jobId);
    const timer = this.process.clock.after(Math.min(Number(ms), LONGEST_MS), () => {
      this.#state = IDLE;
      const outcome = status === '0' ? 'succeeded' : 'failed';
      const result = { jobId, outcome, exitCode: null, signal: null, reason: null } as const;
      this.#send({ type: 'finished', ...result, output: null, bytes: null });
    });
    this.#state = { kind: 'running', jobId, timer };
    this.#send({ type: 'started', jobId });
  }
}
