import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import type { Clock, Timer } from '@muster/base';
import { LIMITS } from '@muster/wire';
import { HOST_BACKLOG_BYTES, HOST_IDLE_MS, OUTPUT_CHUNK } from '../../limits.js';
import { FrameReader, writeFrames } from '../frames.js';
import { attemptKey } from '../key.js';
import type { FromHost, RunOrder, RunTerms, ToHost } from '../protocol.js';
import { Attempt, type AttemptSurroundings, type TaskRunner } from './attempt.js';

export interface TaskHostSetup {
  readonly clock: Clock;
  readonly socket: string;
  /** Ends the process. */
  readonly exit: (code: number) => void;
}

/**
 * What runs tasks beside the agent, and goes on when the agent is killed, restarted or upgraded. It keeps what it has run
 * until the server has stored it, and ends when nothing is left and no agent has been there for a while.
 */
export class TaskHost {
  readonly #setup: TaskHostSetup;
  readonly #runner: TaskRunner;
  readonly #server: Server;
  readonly #attempts = new Map<string, Attempt>();
  readonly #around: AttemptSurroundings;
  /** Those with output to send, by and by. */
  readonly #readable = new Set<Attempt>();
  #agent: Socket | null = null;
  /** As the agent said last. */
  #terms: RunTerms | null = null;
  #epoch = 0;
  #outgoing: FromHost[] = [];
  #flushing = false;
  #idle: Timer | null = null;
  #retired = false;

  constructor(setup: TaskHostSetup, runner: TaskRunner) {
    this.#setup = setup;
    this.#runner = runner;
    this.#around = {
      clock: setup.clock,
      tell: (message) => this.#tell(message),
      readable: (one) => {
        this.#readable.add(one);
        this.#flushSoon();
      },
      changed: () => this.#look(),
    };
    this.#server = createServer((socket) => this.#connected(socket));
  }

  listen(): Promise<void> {
    this.#look();
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.#setup.socket, resolve);
    });
  }

  /** Takes no more tasks; ends when nothing is left. */
  retire(reason: string): void {
    if (this.#retired) return;
    this.#retired = true;
    this.#tell({ t: 'retiring', reason: reason.slice(0, LIMITS.reasonBytes) });
    this.#look();
  }

  log(level: 'debug' | 'warn' | 'error', text: string): void {
    // Nobody reads it later.
    if (this.#agent !== null) this.#tell({ t: 'log', level, text });
  }

  /** An agent that connects takes the place of the one before, which is gone or will not come back. */
  #connected(socket: Socket): void {
    this.#agent?.destroy();
    this.#agent = socket;
    this.#epoch = 0;
    this.#terms = null;
    this.#outgoing = [];
    const reader = new FrameReader();
    socket.on('data', (piece: Buffer) => this.#read(socket, reader, piece));
    socket.on('drain', () => this.#pump());
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      if (this.#agent !== socket) return;
      this.#agent = null;
      this.#look();
    });
    for (const { held } of this.#attempts.values()) this.#tell({ t: 'held', attempt: held });
    this.#tell({ t: 'hello' });
    if (this.#retired) this.#tell({ t: 'retiring', reason: 'it was retired before' });
    this.#rewind(0);
    this.#look();
  }

  #read(socket: Socket, reader: FrameReader, piece: Buffer): void {
    if (this.#agent !== socket) return;
    try {
      for (const message of reader.read(piece)) this.#hear(message as ToHost);
    } catch (error) {
      this.log('error', `a message of the agent cannot be read: ${String(error)}`);
      socket.destroy();
    }
  }

  #hear(message: ToHost): void {
    switch (message.t) {
      case 'terms':
        this.#terms = message.terms;
        return;
      case 'run':
        return this.#run(message);
      case 'kill':
        return this.#attempts.get(attemptKey(message))?.cancel();
      case 'settle':
        return this.#forget(attemptKey(message));
      case 'stored':
        return this.#attempts.get(attemptKey(message))?.stored(message.stream, message.offset);
      case 'rewind':
        return this.#rewind(message.epoch);
      case 'retire':
        return this.retire('the agent asked for it');
    }
  }

  /** What it has, it does not begin a second time. */
  #run({ task, secrets }: Pick<RunOrder, 'secrets' | 'task'>): void {
    const key = attemptKey(task);
    const terms = this.#terms;
    if (terms === null || this.#attempts.has(key)) return;
    const attempt = new Attempt({ task, ...terms, ...(secrets && { secrets }) }, this.#around);
    this.#attempts.set(key, attempt);
    attempt.begin(this.#runner);
  }

  #forget(key: string): void {
    const attempt = this.#attempts.get(key);
    if (attempt === undefined) return;
    this.#attempts.delete(key);
    this.#readable.delete(attempt);
    this.#look();
  }

  #rewind(epoch: number): void {
    this.#epoch = epoch;
    for (const attempt of this.#attempts.values()) attempt.rewind();
  }

  #tell(message: FromHost): void {
    if (this.#agent === null) return;
    this.#outgoing.push(message);
    this.#flushSoon();
  }

  /** All that is told in one turn of the event loop goes out together. */
  #flushSoon(): void {
    if (this.#flushing || this.#agent === null) return;
    this.#flushing = true;
    setImmediate(() => {
      this.#flushing = false;
      this.#flush();
      this.#pump();
    });
  }

  #flush(): void {
    const messages = this.#outgoing.filter((message) => !this.#overtaken(message));
    this.#outgoing = [];
    for (const bytes of writeFrames(messages)) this.#agent?.write(bytes);
  }

  /** One that has ended by the time its beginning would be told has no need of that. */
  #overtaken(message: FromHost): boolean {
    if (message.t !== 'news' || message.news.event !== 'started') return false;
    return (this.#attempts.get(attemptKey(message.news))?.end ?? null) !== null;
  }

  /** Output goes out as the socket has room; its place in the order of messages is behind what was told before it. */
  #pump(): void {
    const agent = this.#agent;
    if (agent === null) return;
    while (this.#readable.size > 0) {
      for (const attempt of this.#readable) {
        if (agent.writableLength > HOST_BACKLOG_BYTES) return;
        const piece = attempt.take(OUTPUT_CHUNK);
        if (piece === null) {
          this.#readable.delete(attempt);
          continue;
        }
        const message: FromHost = { t: 'output', epoch: this.#epoch, ...attempt.ref, ...piece };
        for (const bytes of writeFrames([message])) agent.write(bytes);
      }
    }
  }

  /** Whether it is time to go. */
  #look(): void {
    if (this.#agent !== null && this.#onlyStuck()) {
      // Only the end of this process ends them, and how they ended has been told.
      this.#leave(1);
      return;
    }
    const idle = this.#attempts.size === 0 && (this.#agent === null || this.#retired);
    if (!idle) {
      this.#idle?.cancel();
      this.#idle = null;
      return;
    }
    if (this.#retired) return this.#leave(0);
    this.#idle ??= this.#setup.clock.after(HOST_IDLE_MS, () => this.#leave(0));
  }

  #onlyStuck(): boolean {
    for (const { isStuck } of this.#attempts.values()) if (!isStuck) return false;
    return this.#attempts.size > 0;
  }

  /** Says the last, and goes. */
  #leave(code: number): void {
    const agent = this.#agent;
    const gone = (): void => this.#setup.exit(code);
    this.#server.close();
    rmSync(this.#setup.socket, { force: true });
    if (agent === null) return gone();
    this.#flush();
    this.#agent = null;
    agent.end(gone);
    this.#setup.clock.after(LEAVE_MS, gone);
  }
}

/** How long the last messages may take. */
const LEAVE_MS = 1_000;
