import type { AgentMessage, ServerMessage } from '@muster/wire';

/** What the commands of simulated nodes write. */
export interface OutputLoadOptions {
  /** Lines a second of each node. */
  readonly rate: number;
  /** How long each command writes. */
  readonly seconds: number;
}

type OutputStored = Extract<ServerMessage, { type: 'output_stored' }>;

/** Between two looks whether lines are due. */
const TICK_MS = 20;
/** Bytes of a line, its end included: those of a log. */
const LINE_BYTES = 80;
/** Of one message, at most: as an agent's. */
const CHUNK_BYTES = 32_768;

/**
 * A command that writes so many lines a second, each with the time when it is due (milliseconds since the epoch) and its number. They go to the
 * server as those of an agent do: one message is under way, and what is written meanwhile goes with the next. Lines are made when they are sent,
 * all of a message at once, so that a thousand such commands leave the machine to what is measured.
 */
export class OutputLoad {
  readonly #jobId: string;
  readonly #options: OutputLoadOptions;
  readonly #send: (message: AgentMessage) => void;
  readonly #ended: () => void;
  readonly #beganAt = Date.now();
  readonly #began = performance.now();
  #timer: NodeJS.Timeout | null = null;
  /** That were sent. */
  #lines = 0;
  #offset = 0;
  #inFlight = false;

  constructor(
    jobId: string,
    options: OutputLoadOptions,
    { send, ended }: { readonly send: (message: AgentMessage) => void; readonly ended: () => void },
  ) {
    this.#jobId = jobId;
    this.#options = options;
    this.#send = send;
    this.#ended = ended;
    this.#give();
  }

  /** Bytes that were written, once it has ended. */
  get bytes(): number {
    return this.#offset;
  }

  stored({ jobId, stream, offset }: OutputStored): void {
    if (!this.#inFlight || jobId !== this.#jobId || stream !== 'stdout' || offset < this.#offset) return;
    this.#inFlight = false;
    this.#give();
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #give(): void {
    const { rate, seconds } = this.#options;
    const due = Math.min(Math.floor(((performance.now() - this.#began) / 1000) * rate), rate * seconds);
    const to = Math.min(due, this.#lines + Math.floor(CHUNK_BYTES / LINE_BYTES));
    if (to > this.#lines) {
      this.#inFlight = true;
      const data = this.#written(this.#lines, to);
      this.#send({ type: 'output', jobId: this.#jobId, stream: 'stdout', offset: this.#offset, data });
      this.#lines = to;
      this.#offset += data.length;
    } else if (to === rate * seconds) {
      this.#ended();
    } else {
      this.#timer = setTimeout(() => this.#give(), TICK_MS);
    }
  }

  #written(from: number, to: number): Buffer {
    let text = '';
    for (let line = from; line < to; line++) {
      const dueAt = Math.round(this.#beganAt + ((line + 1) / this.#options.rate) * 1000);
      text += `${`${dueAt} ${line} `.padEnd(LINE_BYTES - 1, '.')}\n`;
    }
    return Buffer.from(text);
  }
}
