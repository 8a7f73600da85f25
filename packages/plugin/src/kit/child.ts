import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { type Clock, systemClock } from '@muster/base';
import type { ProcessExit } from '@muster/wire';
import { type ProgramCall, type Progress, ProgressLines } from '../contract/index.js';
import { causeOf } from '../contract/system-error.js';
import { GRACE_MS, PIPE_GRACE_MS } from './limits.js';

export interface ChildRequest {
  readonly call: ProgramCall;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** What it reads; null: nothing. */
  readonly stdin: string | null;
  /** Null: no limit. */
  readonly timeoutMs: number | null;
  readonly onOutput: (stream: 'stdout' | 'stderr', piece: Uint8Array) => void;
  readonly onProgress: (progress: Progress) => void;
  /** Of a process of ours, which is told its task by messages. */
  readonly channel?: {
    readonly first: object;
    readonly onMessage: (message: unknown) => void;
    /** Said when the time is over, before the process is ended. */
    readonly abort: object;
  };
}

export interface ChildEnd extends ProcessExit {
  readonly timedOut: boolean;
}

/** A program could not be started; the message says why. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/** Runs a program in a process group of its own, to its end or that of its time. Throws StartError. */
export async function runChild(request: ChildRequest, clock: Clock = systemClock): Promise<ChildEnd> {
  const { call, cwd, env, stdin, channel } = request;
  let child: ChildProcess;
  try {
    child = spawn(call.file, call.args, {
      cwd,
      env: { ...env },
      detached: true,
      stdio: [
        stdin === null ? 'ignore' : 'pipe',
        'pipe',
        'pipe',
        'pipe',
        ...(channel === undefined ? [] : (['ipc'] as const)),
      ],
    });
  } catch (error) {
    throw new StartError(`cannot run ${call.file}: ${causeOf(error)}`);
  }
  const exited = new Promise<ProcessExit>((resolve) => {
    child.once('exit', (exitCode, signal) => resolve({ exitCode, signal }));
  });
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  listen(child, request);
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (error) => reject(new StartError(`cannot run ${call.file}: ${causeOf(error)}`)));
  });
  // From here on an error can only be a message that found nobody; the exit tells what matters.
  child.on('error', () => undefined);
  if (channel !== undefined) child.send(channel.first);
  const time = limitTime(child, request, clock);
  const exit = await exited;
  time.end();
  signalGroup(child, 'SIGKILL');
  await new Promise<void>((resolve) => {
    const grace = clock.after(PIPE_GRACE_MS, resolve);
    void closed.then(() => {
      grace.cancel();
      resolve();
    });
  });
  for (const stream of child.stdio) stream?.destroy();
  return { ...exit, timedOut: time.over() };
}

function listen(child: ChildProcess, { stdin, onOutput, onProgress, channel }: ChildRequest): void {
  child.stdout?.on('data', (piece: Buffer) => onOutput('stdout', piece));
  child.stderr?.on('data', (piece: Buffer) => onOutput('stderr', piece));
  const lines = new ProgressLines();
  const progress = child.stdio[3] as Readable | null | undefined;
  progress?.on('data', (piece: Buffer) => lines.read(piece).forEach(onProgress));
  progress?.on('end', () => {
    const last = lines.end();
    if (last !== null) onProgress(last);
  });
  // A program need not read what it is given.
  child.stdin?.on('error', () => undefined);
  if (stdin !== null) child.stdin?.end(stdin);
  if (channel !== undefined) child.on('message', channel.onMessage);
}

/** Asks the group to end when its time is over, and kills it after the grace. */
function limitTime(child: ChildProcess, { timeoutMs, channel }: ChildRequest, clock: Clock) {
  let isOver = false;
  let timer = timeoutMs === null ? null : clock.after(timeoutMs, ask);
  function ask(): void {
    isOver = true;
    if (channel === undefined) signalGroup(child, 'SIGTERM');
    else child.send(channel.abort);
    timer = clock.after(GRACE_MS, () => signalGroup(child, 'SIGKILL'));
  }
  return { over: () => isOver, end: () => timer?.cancel() };
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // Nobody is left in it.
  }
}
