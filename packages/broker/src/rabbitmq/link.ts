import type { Socket, TcpSocketConnectOpts } from 'node:net';
import type { Clock, Timer } from '@muster/base';
import { type Channel, Connection } from 'rabbitmq-client';
import type { Limits } from '../limits.js';
import { unavailable } from '../outgoing.js';
import type { BrokerLog, BrokerStatus } from '../types.js';

export interface LinkOptions {
  readonly url: string;
  /** By which people find it in the broker. */
  readonly name: string;
  readonly clock: Clock;
  readonly log: BrokerLog;
  readonly limits: Limits;
}

/** Taken by a socket before it has those wait who write: what is sent together leaves in one write up to here. */
const WRITE_BYTES = 1024 * 1024;

/**
 * One connection, made again whenever it is lost. Nothing waits for it: what is asked of a broker that is away, or that takes
 * nothing because a disk or memory alarm is on, is refused at once, and what is under way then, too.
 */
export class Link {
  readonly #options: LinkOptions;
  readonly #connection: Connection;
  /** Told with each connection. */
  readonly #up = new Set<() => void>();
  /** Refuse what is under way. */
  readonly #underWay = new Set<(error: Error) => void>();
  #status: BrokerStatus;
  #closed = false;

  constructor(options: LinkOptions) {
    const { url, name, clock, log, limits } = options;
    this.#options = options;
    this.#status = { connected: false, since: clock.now(), why: 'connecting' };
    this.#connection = new Connection({
      url,
      connectionName: name,
      heartbeat: limits.heartbeatSeconds,
      connectionTimeout: limits.connectMs,
      acquireTimeout: limits.publishMs,
      retryLow: limits.retryFirstMs,
      retryHigh: limits.retryMostMs,
      frameMax: 131_072,
      noDelay: true,
      // Where the port is the library's, and Node's types leave out what its sockets take as streams.
      socket: { highWaterMark: WRITE_BYTES } as unknown as TcpSocketConnectOpts,
    });
    this.#connection.on('connection', () => {
      log.info({ connection: name }, 'connected to the broker');
      this.#change(null);
      for (const told of [...this.#up]) told();
    });
    this.#connection.on('error', (err: unknown) => {
      log.warn({ err, connection: name }, 'the connection to the broker is in trouble');
      // Errors of a channel come here, too; the connection is well then.
      if (!this.#connection.ready) this.#change(reasonOf(err));
    });
    this.#connection.on('connection.blocked', (reason) => {
      log.warn({ reason, connection: name }, 'the broker takes no messages');
      this.#change(`it takes no messages: ${reason}`);
    });
    this.#connection.on('connection.unblocked', () => {
      log.info({ connection: name }, 'the broker takes messages again');
      this.#change(null);
    });
  }

  status(): BrokerStatus {
    return this.#status;
  }

  /** Resolves with the first connection, or with the first failure. */
  async settled(): Promise<void> {
    await this.#connection.onConnect(this.#options.limits.connectMs, true).catch(() => undefined);
  }

  /** @returns how to stop being told. */
  onUp(told: () => void): () => void {
    this.#up.add(told);
    return () => void this.#up.delete(told);
  }

  /** @throws MusterError `broker_unavailable` at once, when the connection is lost, or when it takes longer than `mostMs` */
  async ask<T>(work: (connection: Connection) => Promise<T>, mostMs = this.#options.limits.publishMs): Promise<T> {
    const { connected, why } = this.#status;
    if (this.#closed || !connected) throw unavailable(why ?? 'it is closed');
    let refuse: (error: Error) => void = () => undefined;
    const refused = new Promise<never>((_, reject) => {
      refuse = reject;
    });
    const timer = this.#options.clock.after(mostMs, () => refuse(unavailable(`it has not answered in ${mostMs} ms`)));
    this.#underWay.add(refuse);
    const asked = work(this.#connection);
    try {
      return await Promise.race([asked, refused]);
    } catch (error) {
      asked.catch(() => undefined);
      throw error;
    } finally {
      timer.cancel();
      this.#underWay.delete(refuse);
    }
  }

  /** What `work` sends, before it returns, leaves in as few writes as can be. */
  together(work: () => void): void {
    // The library has no way to send several messages at once, and names its socket nowhere: without it each leaves alone.
    const { _socket: socket } = this.#connection as unknown as { readonly _socket?: Pick<Socket, 'cork' | 'uncork'> };
    socket?.cork();
    try {
      work();
    } finally {
      socket?.uncork();
    }
  }

  /** With a channel for this alone: an error closes it and concerns nobody else. */
  async admin<T>(work: (channel: Channel) => Promise<T>): Promise<T> {
    return this.ask(async (connection) => {
      const channel = await connection.acquire({ emitErrorsFromChannel: true });
      channel.on('error', () => undefined);
      try {
        return await work(channel);
      } finally {
        void channel.close();
      }
    });
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#change('it is closed');
    const { clock, limits } = this.#options;
    let timer: Timer | undefined;
    const late = new Promise<void>((resolve) => {
      timer = clock.after(limits.closeMs, resolve);
    });
    // Waits for its channels to be closed, and for the broker.
    await Promise.race([this.#connection.close().catch(() => undefined), late]);
    timer?.cancel();
    this.#connection.unsafeDestroy();
  }

  #change(why: string | null): void {
    const { clock } = this.#options;
    const connected = why === null;
    if (connected !== this.#status.connected) this.#status = { connected, since: clock.now(), why };
    else this.#status = { ...this.#status, why };
    if (why === null) return;
    for (const refuse of [...this.#underWay]) refuse(unavailable(why));
  }
}

/** Closes it; also when its connection goes meanwhile, which the library would wait out for ever. */
export async function closed(channel: Channel): Promise<void> {
  if (!channel.active) return;
  const gone = new Promise<void>((resolve) => channel.once('close', resolve));
  await Promise.race([channel.close(), gone]);
}

/** What an error says; never empty. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.message !== '') return error.message;
  return 'code' in error ? String(error.code) : error.name;
}

/** The reply code of an error of a channel, such as `NOT_FOUND`. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
