import type { Exit, Launch, Processes, RunningCommand } from '@muster/agent';
import type { Stream } from '@muster/wire';
import type { Random } from '../kernel/random.js';
import type { Timeline } from '../kernel/timeline.js';
import type { Trace } from '../kernel/trace.js';

/** A command that runs on a node: it outlives its agent. */
interface Command {
  readonly jobId: string;
  /** MUSTER_RUN of its environment. */
  readonly run: string;
  readonly end: (exit: Exit) => void;
}

export interface RoomEvents {
  /** The node has promised to run this job. */
  committed(jobId: string): void;
  began(jobId: string): void;
}

/** The machine under an agent: its disk and its processes survive the agent. */
export class MachineRoom {
  readonly node: string;
  readonly files = new Map<string, string>();
  readonly running = new Set<Command>();
  /** Milliseconds a write takes to be durable, at most. */
  readonly diskMs: number;
  readonly #timeline: Timeline;
  readonly #random: Random;
  readonly #trace: Trace;
  readonly #told: RoomEvents;

  constructor(
    node: string,
    around: { timeline: Timeline; random: Random; trace: Trace; diskMs: number },
    told: RoomEvents,
  ) {
    this.node = node;
    this.diskMs = around.diskMs;
    this.#timeline = around.timeline;
    this.#random = around.random;
    this.#trace = around.trace;
    this.#told = told;
  }

  committed(jobId: string): void {
    this.#told.committed(jobId);
  }

  /** A command begins, by `processes` or by other means. */
  begin(jobId: string): void {
    this.#told.began(jobId);
  }

  /** For `work JOB MILLISECONDS STATUS BYTES`, the only program there is. */
  readonly processes: Processes = {
    launch: async (request, _clock, write) => this.#launch(request, write),
    ownAccount: async () => null,
    groupOf: () => null,
    killRun: async (run) => {
      for (const command of [...this.running]) if (command.run === run.marker) await this.#kill(command);
      return true;
    },
  };

  #launch({ args, env }: Launch, write: (stream: Stream, data: Uint8Array) => void): RunningCommand {
    const [jobId = '', ms = '0', status = '0', bytes = '0'] = args;
    this.begin(jobId);
    let settle: (exit: Exit) => void = () => undefined;
    const ended = new Promise<Exit>((resolve) => {
      settle = resolve;
    });
    const command: Command = {
      jobId,
      run: env.MUSTER_RUN ?? '',
      end: (exit) => {
        if (!this.running.delete(command)) return;
        this.#trace.say(() => `${this.node}: the command of job ${jobId.slice(-4)} is gone`);
        settle(exit);
      },
    };
    this.running.add(command);
    const duration = Number(ms);
    const total = Number(bytes);
    const pieces = Math.ceil(total / PIECE);
    for (let piece = 0; piece < pieces; piece++) {
      const from = piece * PIECE;
      this.#timeline.after((duration * piece) / pieces, null, () => {
        if (this.running.has(command)) write('stdout', output(jobId, this.node, from, Math.min(PIECE, total - from)));
      });
    }
    this.#timeline.after(duration, null, () => command.end({ exitCode: Number(status), signal: null }));
    return { pid: 1, ended };
  }

  /** TERM, and for some KILL after the grace. */
  #kill(command: Command): Promise<void> {
    return new Promise((resolve) => {
      this.#timeline.after(this.#random.around(700), null, () => {
        command.end({ exitCode: null, signal: 'SIGTERM' });
        resolve();
      });
    });
  }

  /** The power is cut: nothing runs any more, what is on disk stays. */
  powerOff(): void {
    for (const command of [...this.running]) command.end({ exitCode: null, signal: 'SIGKILL' });
  }
}

const PIECE = 700;

/** What a job writes on a node, from byte `from` on: told apart from any other. */
export function output(jobId: string, node: string, from: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  let salt = 0;
  for (const char of jobId.slice(-6) + node) salt = (salt * 31 + char.charCodeAt(0)) & 0xffff;
  for (let i = 0; i < length; i++) bytes[i] = (salt + (from + i) * 7 + ((from + i) >> 8)) & 0xff;
  return bytes;
}
