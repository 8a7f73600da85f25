import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { constants } from 'node:os';
import type { Clock, Timer } from '@muster/base';
import { ownProgram } from '@muster/base/own-parts';
import type { Stream } from '@muster/wire';
import { PIPE_GRACE_MS } from '../limits.js';
import type { ControlGroup } from './cgroup.js';
import { dropFrame, type ForkerEvent, ForkerReader, type ForkPlace, startFrame } from './forker-frames.js';
import { killRun } from './process-tree.js';
import { type Exit, type Launch, LaunchError, type RunningCommand } from './runner.js';

/** The program; null where it was not built, and where no directory takes it. */
export function forkerProgram(): string | null {
  try {
    return ownProgram(new URL('../muster-forker', import.meta.url));
  } catch {
    return null;
  }
}

/** A command that is to be started, and how its end is told. */
export interface ForkOrder {
  readonly request: Launch;
  readonly ids: ForkPlace['ids'];
  /** The control group in which it is born; null: where the agent is. */
  readonly group: ControlGroup | null;
  readonly clock: Clock;
  readonly write: (stream: Stream, data: Uint8Array) => void;
}

/** One command of a forker. */
class ForkedCommand {
  readonly #order: ForkOrder;
  readonly #begin: (command: RunningCommand | null) => void;
  readonly #refuse: (error: LaunchError) => void;
  #pid: number | null = null;
  #end: (exit: Exit) => void = () => undefined;
  #grace: Timer | null = null;

  constructor(order: ForkOrder, begin: (command: RunningCommand | null) => void, refuse: (error: LaunchError) => void) {
    this.#order = order;
    this.#begin = begin;
    this.#refuse = refuse;
  }

  born(pid: number): void {
    this.#pid = pid;
    const ended = new Promise<Exit>((resolve) => {
      this.#end = resolve;
    });
    this.#begin({ pid, ended });
  }

  /** Nothing of it has run. */
  failed(): void {
    this.#begin(null);
  }

  output(descriptor: number, data: Buffer): void {
    if (descriptor === 3) this.#order.request.third?.(data);
    else this.#order.write(descriptor === 1 ? 'stdout' : 'stderr', data);
  }

  /** Its output stays open; as in runner.ts, not for long. */
  exited(status: number, drop: () => void): void {
    this.#grace = this.#order.clock.after(PIPE_GRACE_MS, () => {
      drop();
      this.over(status);
    });
  }

  over(status: number): void {
    this.#grace?.cancel();
    this.#end(exitOf(status));
  }

  /** The forker is gone, and with it the end of the command and what it writes from now on: it is killed. */
  async lost(how: string): Promise<void> {
    this.#grace?.cancel();
    const { request, group, clock } = this.#order;
    await killRun({ leader: this.#pid, marker: request.run, group }, clock, 0);
    const reason = `the process that starts commands ended (${how})`;
    if (this.#pid === null) return this.#refuse(new LaunchError(`cannot run ${request.file}: ${reason}`));
    this.#end({ exitCode: null, signal: 'SIGKILL', lost: `${reason} while it ran` });
  }
}

/** A forker: a small process that starts commands and tells what they write and how they end. */
export class ForkerProcess {
  readonly #child: ChildProcess;
  readonly #commands = new Map<number, ForkedCommand>();
  #last = 0;
  #greeted = false;
  #gone = false;

  /** `over`: once, when it has ended; what it had begun has been taken care of, or is being. */
  constructor(program: string, over: () => void) {
    const child = spawn(program, [], {
      argv0: 'muster-forker',
      cwd: '/',
      // Nothing of the agent's.
      env: {},
      detached: true,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    this.#child = child;
    const reader = new ForkerReader();
    child.stdout?.on('data', (piece: Buffer) => this.#read(reader, piece));
    // Its end tells more than what could not be written to it.
    child.stdin?.on('error', () => undefined);
    const gone = (how: string): void => {
      if (this.#gone) return;
      this.#gone = true;
      over();
      this.#lose(how);
    };
    child.once('error', (error) => gone(error.message));
    child.once('close', (exitCode, signal) => gone(signal ?? `exit status ${exitCode}`));
    this.#hold(false);
  }

  /** It works on this machine. */
  get greeted(): boolean {
    return this.#greeted;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Null: it cannot start this command, of which nothing has run. Throws LaunchError. */
  launch(order: ForkOrder): Promise<RunningCommand | null> {
    const id = this.#next();
    const frame = startFrame(id, order.request, { group: order.group?.path ?? null, ids: order.ids });
    if (frame === null) return Promise.resolve(null);
    return new Promise((resolve, reject) => {
      this.#commands.set(id, new ForkedCommand(order, resolve, reject));
      this.#hold(true);
      this.#child.stdin?.write(frame);
    });
  }

  #next(): number {
    do this.#last = (this.#last + 1) >>> 0;
    while (this.#commands.has(this.#last));
    return this.#last;
  }

  #read(reader: ForkerReader, piece: Buffer): void {
    try {
      for (const event of reader.read(piece)) this.#hear(event);
    } catch {
      // Whatever it is, it is no forker of ours any more.
      this.#child.kill('SIGKILL');
    }
  }

  #hear(event: ForkerEvent): void {
    if (event.type === 'hello') {
      this.#greeted = true;
      return;
    }
    const { id } = event;
    // What is still on its way of one that was dropped.
    const command = this.#commands.get(id);
    if (command === undefined) return;
    switch (event.type) {
      case 'born':
        return command.born(event.pid);
      case 'failed':
        this.#forget(id);
        return command.failed();
      case 'output':
        return command.output(event.descriptor, event.data);
      case 'exited':
        return command.exited(event.status, () => {
          this.#forget(id);
          this.#child.stdin?.write(dropFrame(id));
        });
      case 'over':
        this.#forget(id);
        return command.over(event.status);
    }
  }

  #forget(id: number): void {
    this.#commands.delete(id);
    if (this.#commands.size === 0) this.#hold(false);
  }

  #lose(how: string): void {
    for (const command of this.#commands.values()) {
      // It says hello before it reads what it is to start.
      if (this.#greeted) void command.lost(how);
      else command.failed();
    }
    this.#commands.clear();
  }

  /** Only a command that runs keeps this process from ending. */
  #hold(on: boolean): void {
    const { stdin, stdout } = this.#child as { stdin: Socket | null; stdout: Socket | null };
    for (const handle of [this.#child, stdin, stdout]) {
      if (on) handle?.ref();
      else handle?.unref();
    }
  }
}

const SIGNALS = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

/** By the status of wait(2). */
function exitOf(status: number): Exit {
  const number = status & 0x7f;
  if (number === 0) return { exitCode: status >> 8, signal: null };
  return { exitCode: null, signal: SIGNALS.get(number) ?? `signal ${number}` };
}
