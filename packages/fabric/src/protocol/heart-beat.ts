import type { Clock, Timer } from '@muster/base/clock';

const LINE_END = Uint8Array.of(10);

export interface HeartBeatPorts {
  readonly clock: Clock;
  write(bytes: Uint8Array): void;
  /** The peer has sent nothing for longer than it may (L-5). */
  silent(): void;
}

export interface HeartBeatTimes {
  /** We have promised to send a byte at least this often; 0: no promise. */
  readonly sendMs: number;
  /** For how long the peer may send nothing; 0: for ever. */
  readonly patienceMs: number;
}

/**
 * Keeps a connection alive and finds out when the peer is dead. Frames count as heart-beats; all that is done for each
 * of them is to note the time.
 */
export class HeartBeat {
  readonly #ports: HeartBeatPorts;
  readonly #patienceMs: number;
  #wroteMs: number;
  #heardMs: number;
  #sending: Timer | null = null;
  #listening: Timer | null = null;
  #stopped = false;

  constructor(ports: HeartBeatPorts, { sendMs, patienceMs }: HeartBeatTimes) {
    this.#ports = ports;
    this.#patienceMs = patienceMs;
    this.#wroteMs = ports.clock.monotonic();
    this.#heardMs = this.#wroteMs;
    // Half of what was promised, as timers and networks are late now and then.
    if (sendMs > 0) this.#send(sendMs / 2);
    if (patienceMs > 0) this.#listen();
  }

  wrote(): void {
    this.#wroteMs = this.#ports.clock.monotonic();
  }

  heard(): void {
    this.#heardMs = this.#ports.clock.monotonic();
  }

  /** Nothing is read from the peer for now, so that its silence says nothing about it. */
  pause(): void {
    this.#listening?.cancel();
    this.#listening = null;
  }

  resume(): void {
    this.heard();
    if (this.#patienceMs > 0 && this.#listening === null && !this.#stopped) this.#listen();
  }

  stop(): void {
    this.#stopped = true;
    this.#sending?.cancel();
    this.pause();
  }

  #send(idleMs: number): void {
    const { clock } = this.#ports;
    const sinceMs = clock.monotonic() - this.#wroteMs;
    const due = sinceMs >= idleMs;
    if (due) {
      this.wrote();
      this.#ports.write(LINE_END);
    }
    this.#sending = clock.after(due ? idleMs : idleMs - sinceMs, () => this.#send(idleMs));
  }

  #listen(): void {
    const { clock } = this.#ports;
    const nowMs = clock.monotonic();
    const remainingMs = this.#heardMs + this.#patienceMs - nowMs;
    if (remainingMs <= 0) return this.#ports.silent();
    this.#listening = clock.after(remainingMs, () => {
      // The timer is so late that this process itself stood still: what the peer sent meanwhile has not been read yet.
      if (clock.monotonic() - nowMs - remainingMs > this.#patienceMs / 2) this.heard();
      this.#listen();
    });
  }
}
