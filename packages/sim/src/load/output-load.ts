import type { AgentMessage, ServerMessage } from '@muster/wire';

/** What the commands of simulated nodes write. */
export interface OutputLoadOptions {
  /** Lines a second of each node. */
  readonly rate: number;
  /** How long each command writes. */
  readonly seconds: number;
}

type OutputStored = Extract<ServerMessage, { type: 'output_stored' }>;

/** Between two looks which lines are due. */
const TICK_MS = 20;
/** Bytes of a line, its end included: those of a log. */
const LINE_BYTES = 80;
/** Of one message, at most: as an agent's. */
const CHUNK_BYTES = 32_768;

/**
 * A command that writes so many lines a second, each with its time (milliseconds since the epoch) and number. They go to the server as those
 * of an agent do: one message is under way, and what is written meanwhile goes with the next.
 */
export class OutputLoad {
  readonly #jobId: string;
  readonly #options: OutputLoadOptions;
  readonly #send: (message: AgentMessage) => void;
  readonly #timer: NodeJS.Timeout;
  readonly #began = performance.now();
  readonly #ended: () => void;
  #lines = 0;
  #pending: Buffer[] = [];
  #offset = 0;
  #inFlight = 0;

  constructor(
    jobId: string,
    options: OutputLoadOptions,
    { send, ended }: { readonly send: (message: AgentMessage) => void; readonly ended: () => void },
  ) {
    this.#jobId = jobId;
    this.#options = options;
    this.#send = send;
    this.#ended = ended;
    this.#timer = setInterval(() => this.#write(), TICK_MS);
  }

  /** Bytes that were written, once it has ended. */
  get bytes(): number {
    return this.#offset;
  }

  stored({ jobId, stream, offset }: OutputStored): void {
    if (jobId !== this.#jobId || stream !== 'stdout' || offset < this.#offset) return;
    this.#inFlight = 0;
    this.#give();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #write(): void {
    const { rate, seconds } = this.#options;
    const due = Math.min(Math.floor(((performance.now() - this.#began) / 1000) * rate), rate * seconds);
    for (; this.#lines < due; this.#lines++) {
      this.#pending.push(Buffer.from(`${`${Date.now()} ${this.#lines} `.padEnd(LINE_BYTES - 1, '.')}\n`));
    }
    this.#give();
  }

  #give(): void {
    if (this.#inFlight > 0) return;
    const lines = this.#pending.splice(0, CHUNK_BYTES / LINE_BYTES);
    if (lines.length > 0) {
      const data = Buffer.concat(lines);
      this.#inFlight = data.length;
      this.#send({ type: 'output', jobId: this.#jobId, stream: 'stdout', offset: this.#offset, data });
      this.#offset += data.length;
    } else if (this.#lines === this.#options.rate * this.#options.seconds) {
      this.stop();
      this.#ended();
    }
  }
}
