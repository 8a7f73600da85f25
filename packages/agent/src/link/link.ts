import type { KeyObject } from 'node:crypto';
import type { Clock, Timer } from '@muster/base';
import type { DropCause, NodeConfiguration, ServerMessage } from '@muster/wire';
import { MusterError } from '../errors.js';
import type { Host } from '../host.js';
import {
  DEFAULT_INTERVAL_MS,
  LIFETIME_SPLAY,
  NO_LEADER_RETRY_MS,
  REJECTED_FIRST_MS,
  REJECTED_LONGEST_MS,
  RETRY_FIRST_MS,
  RETRY_LONGEST_MS,
} from '../limits.js';
import type { AgentLog } from '../logging.js';
import { type ChannelEvent, freshWatch, watch } from './channel-watch.js';
import type { NodeIdentity } from './configuration-request.js';
import { Connection, type ConnectionEvents, type MessageSource } from './connection.js';
import { DropLog } from './drop-log.js';
import { freshLiveness, judge } from './liveness.js';
import type { Outbox } from './outbox.js';
import type { ServerPin } from './server-pin.js';
import type { CurveKeys, SocketEvent } from './sockets.js';

/** What the link tells the daemon. */
export interface LinkEvents {
  /** A new connection stands: tell the server who and how we are; what was on its way over the old one may be lost. */
  connected(): void;
  /** The server's heartbeat, or any verified message of it. */
  heard(): void;
  message(message: ServerMessage): void;
  offline(): void;
  online(): void;
  /** Once per heartbeat interval. */
  tick(): void;
}

export interface LinkSetup {
  readonly identity: NodeIdentity;
  readonly incarnation: string;
  readonly clock: Clock;
  readonly logger: AgentLog;
  readonly random: () => number;
  readonly host: Pick<Host, 'sockets' | 'configuration'>;
  readonly pin: ServerPin;
}

/**
 * The agent's link to its server: asks for the configuration, keeps the sockets of the present one, judges whether the
 * server is online, and decides when to ask again (Push Jobs §3.2, §4.3; sheet §5.5). There is one request at a time.
 */
export class Link {
  readonly #setup: LinkSetup;
  readonly #outbox: Outbox;
  readonly #events: LinkEvents;
  readonly #drops: DropLog;
  readonly #curve: CurveKeys;
  #connection: Connection | null = null;
  #liveness = freshLiveness;
  #watch = freshWatch;
  #timers = new Map<TimerName, Timer>();
  #asking = false;
  /** Handshakes in a row that failed. */
  #rejections = 0;
  #closed = false;

  constructor(setup: LinkSetup, outbox: Outbox, events: LinkEvents) {
    this.#setup = setup;
    this.#curve = setup.host.sockets.curveKeys();
    this.#outbox = outbox;
    this.#events = events;
    this.#drops = new DropLog(setup.clock, setup.logger);
    outbox.onReadable = () => this.#connection?.kick();
  }

  get configuration(): NodeConfiguration | null {
    return this.#connection?.configuration ?? null;
  }

  get online(): boolean {
    return this.#connection !== null && this.#liveness.online;
  }

  /** Whether the command channel works: connected and answered. */
  get established(): boolean {
    return this.#watch.connected && this.#watch.answered;
  }

  /** Asks for the configuration, unless that is going on; one that waits to be repeated is repeated now. */
  reconfigure(reason: string): void {
    if (this.#closed || (this.#asking && !this.#timers.has('retry'))) return;
    this.#setup.logger.info({ reason }, 'asking for the configuration');
    this.#asking = true;
    this.#cancel('retry');
    void this.#ask(0);
  }

  async #ask(failures: number): Promise<void> {
    const { identity, clock, logger, random, host, pin } = this.#setup;
    try {
      const asking = { curvePublicKey: this.#curve.publicKey, knownKey: pin.known };
      const { configuration } = await host.configuration(identity, asking, clock.now());
      if (this.#closed) return;
      this.#connect(configuration, pin.check(configuration));
      // Without it the agent works as well as before; it is kept with the next configuration.
      pin
        .keep(configuration)
        .catch((error: unknown) => logger.warn({ err: error }, 'cannot keep the key of the server'));
      this.#asking = false;
    } catch (error) {
      if (this.#closed) return;
      const longest = Math.min(RETRY_FIRST_MS * 2 ** failures, this.#longestRetryMs(error));
      const pause = Math.round(longest * (0.5 + random() / 2));
      const why = error instanceof Error ? error.message : String(error);
      const hint = isUnknown(error) ? UNKNOWN_KEY : '';
      logger.warn({ server: identity.server.origin, retryMs: pause }, `no configuration: ${why}${hint}`);
      this.#arm('retry', pause, () => void this.#ask(Math.min(failures + 1, MOST_DOUBLINGS)));
    }
  }

  /**
   * A server that is not there is back at any moment, and a connection that it refuses costs it nothing: it is asked once
   * an interval. One that answers with a refusal is likely to refuse again, but for a server of a cluster that has no leader: another takes
   * over within seconds.
   */
  #longestRetryMs(error: unknown): number {
    if (!(error instanceof MusterError)) return RETRY_LONGEST_MS;
    if (error.details.code === 'no_leader') return NO_LEADER_RETRY_MS;
    const away = error.code === 'server_unreachable';
    return away ? Math.min(this.#intervalMs(), RETRY_LONGEST_MS) : RETRY_LONGEST_MS;
  }

  #connect(configuration: NodeConfiguration, serverKeys: readonly KeyObject[]): void {
    const { identity, incarnation, clock, logger, random, host } = this.#setup;
    const { sockets } = host;
    const { key: privateKey } = identity;
    const setup = { configuration, sockets, curve: this.#curve, privateKey, serverKeys, incarnation, clock, logger };
    const connection: Connection = new Connection(
      setup,
      this.#source(),
      this.#connectionEvents(() => connection),
    );
    this.#connection?.close();
    this.#connection = connection;
    connection.open();
    this.#observe('reopened');
    this.#cancel('splay');
    this.#cancel('channel');
    this.#arm('lifetime', configuration.lifetime * 1000 * (1 - random() * LIFETIME_SPLAY), () =>
      this.reconfigure('the lifetime of the configuration is over'),
    );
    this.#armTick();
    const { out_addr: heartbeat, command_addr: command } = configuration.push_jobs.heartbeat;
    logger.info({ server: configuration.host, heartbeat, command }, 'connecting');
  }

  /** Nothing is handed to ZeroMQ before the connection stands: what waits there grows old. */
  #source(): MessageSource {
    return {
      take: () => (this.#watch.connected ? this.#outbox.take() : null),
      putBack: (message) => this.#outbox.putBack(message),
    };
  }

  /** Late events of a connection that was replaced mean nothing. */
  #connectionEvents(current: () => Connection): ConnectionEvents {
    const present = (work: () => void): void => {
      if (this.#connection === current()) work();
    };
    return {
      heartbeat: (beat) =>
        present(() => {
          this.#liveness = judge(this.#liveness, { type: 'heartbeat' }, this.#thresholds()).liveness;
          if (beat.incarnation !== null && beat.incarnation !== this.configuration?.incarnation_id) {
            this.reconfigureSoon('the server was restarted');
          }
          this.#events.heard();
        }),
      message: (message) =>
        present(() => {
          this.#observe('received');
          this.#events.heard();
          this.#events.message(message);
        }),
      channel: (event) => present(() => this.#channel(event)),
      dropped: (cause: DropCause) => this.#drops.count(cause),
    };
  }

  #channel(event: SocketEvent | 'stuck'): void {
    const { logger } = this.#setup;
    switch (event) {
      case 'connected':
        logger.debug('command channel connected');
        this.#rejections = 0;
        this.#observe('connected');
        this.#events.connected();
        this.#connection?.kick();
        return;
      case 'disconnected':
        if (!this.#watch.connected) return;
        logger.info('command channel disconnected');
        this.#observe('disconnected');
        // ZeroMQ would send what it had queued behind what was lost: a gap in the output that nobody could tell from
        // a dropped middle. A new socket has nothing queued, and output goes on from what is known to be stored.
        this.#reopenChannel();
        // Another server of the cluster may lead by now, and is elsewhere.
        if (this.configuration?.clustered === true) this.reconfigureSoon('the command channel was lost');
        return;
      case 'refused':
      case 'rejected':
        logger.info('command channel refused: the key is not admitted, or the server has new keys');
        this.#observe('disconnected');
        // Once for each connection that stood: what is asked in vain is repeated by itself.
        if (this.#rejections === 0) this.reconfigureSoon('the command channel was refused');
        this.#pauseChannel();
        return;
      case 'stuck':
        // §4.3: a full queue is as good as a server that is down.
        logger.info('the command channel takes no more messages');
        this.#observe('disconnected');
        this.#reopenChannel();
        return;
    }
  }

  #reopenChannel(): void {
    this.#cancel('channel');
    this.#connection?.reopenChannel();
  }

  /**
   * After a restart the server knows none of the keys that 10,000 nodes would try again and again, four times a second.
   * A new configuration brings new ones, and ends the pause.
   */
  #pauseChannel(): void {
    const longest = Math.min(REJECTED_FIRST_MS * 2 ** this.#rejections, REJECTED_LONGEST_MS);
    this.#rejections = Math.min(this.#rejections + 1, MOST_DOUBLINGS);
    this.#connection?.closeChannel();
    this.#arm('channel', Math.round(longest * (0.5 + this.#setup.random() / 2)), () => this.#reopenChannel());
  }

  #observe(event: ChannelEvent): void {
    const step = watch(this.#watch, event);
    this.#watch = step.watch;
    if (step.reconfigure) this.reconfigure('nothing is heard on the command channel');
  }

  #thresholds() {
    const heartbeat = this.configuration?.push_jobs.heartbeat;
    return { offline: heartbeat?.offline_threshold ?? 3, online: heartbeat?.online_threshold ?? 2 };
  }

  /** Many nodes are told at once: each waits a random part of an interval (sheet §5.5), or of less when they are few. */
  reconfigureSoon(reason: string): void {
    // A request that waits to be repeated does not count: whoever is heard now answers now.
    const asking = this.#asking && !this.#timers.has('retry');
    if (this.#timers.has('splay') || asking || this.#closed) return;
    this.#arm('splay', this.#setup.random() * this.#returnMs(), () => this.reconfigure(reason));
  }

  #returnMs(): number {
    const within = this.configuration?.return_within;
    return within === undefined ? this.#intervalMs() : Math.min(within * 1000, this.#intervalMs());
  }

  #intervalMs(): number {
    const seconds = this.configuration?.push_jobs.heartbeat.interval;
    return seconds === undefined ? DEFAULT_INTERVAL_MS : seconds * 1000;
  }

  #armTick(): void {
    this.#arm('tick', this.#intervalMs(), () => {
      this.#armTick();
      this.#tick();
    });
  }

  #tick(): void {
    const { liveness, effects } = judge(this.#liveness, { type: 'tick' }, this.#thresholds());
    this.#liveness = liveness;
    for (const effect of effects) {
      switch (effect) {
        case 'went_offline':
          this.#setup.logger.warn('the server is offline: no heartbeat; nothing is sent until it is back');
          this.#outbox.pause();
          this.#cancel('channel');
          this.#connection?.reopen();
          this.#observe('reopened');
          this.#events.offline();
          break;
        case 'went_online':
          this.#setup.logger.info('the server is online again');
          this.#outbox.resume();
          this.#events.online();
          break;
        case 'lost':
          this.reconfigure('the server has been silent for too long');
          break;
      }
    }
    if (!liveness.online) return;
    this.#observe('tick');
    this.#outbox.heartbeat();
    this.#events.tick();
  }

  #arm(name: TimerName, afterMs: number, work: () => void): void {
    this.#cancel(name);
    this.#timers.set(
      name,
      this.#setup.clock.after(afterMs, () => {
        this.#timers.delete(name);
        work();
      }),
    );
  }

  #cancel(name: TimerName): void {
    this.#timers.get(name)?.cancel();
    this.#timers.delete(name);
  }

  /**
   * Sends what is left, for at most `flushMs`, and closes. `returning`: another process goes on as this agent in a moment, and the
   * server need not know.
   */
  async close(flushMs: number, returning = false): Promise<void> {
    this.#closed = true;
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
    if (!returning) this.#outbox.push({ type: 'stopping' });
    if (this.online && this.#watch.connected) await this.#connection?.flush(flushMs);
    this.#connection?.close(flushMs);
  }
}

const UNKNOWN_KEY =
  ' The server knows no such node with the key in client.pem: has an admin removed the key or the node (muster node keys NAME), or is it another server (muster agent doctor)?';

function isUnknown(error: unknown): boolean {
  return error instanceof MusterError && error.details.code === 'unknown_principal';
}

type TimerName = 'tick' | 'lifetime' | 'splay' | 'retry' | 'channel';

/** Beyond this the pause is the longest anyway. */
const MOST_DOUBLINGS = 10;
