import { type ChildProcess, spawn } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { type Clock, interpreterOf } from '@muster/base';
import type { Stream } from '@muster/wire';
import { PIPE_GRACE_MS } from '../limits.js';
import type { Account } from './account.js';
import type { LimitFile } from './run-limits.js';
import { headOf } from './script-head.js';

export interface Launch {
  /** Names the run; its processes carry it as MUSTER_RUN. */
  readonly run: string;
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  /** Null: as the agent. */
  readonly account: Account | null;
  readonly capture: boolean;
  /** Limits of this run, instead of those of all. */
  readonly limits?: readonly LimitFile[];
  /** Descriptor that the command reads as its input; nothing when absent. It stays the caller's to close. */
  readonly input?: number;
  /** What the command writes on its third descriptor; it has none when absent. */
  readonly third?: (data: Uint8Array) => void;
}

export interface Exit {
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** Why nobody knows how it would have ended: it was killed. */
  readonly lost?: string;
}

export interface RunningCommand {
  /** Leads its own session and process group. */
  readonly pid: number;
  /** Resolves when the first process has ended and its output has been read. */
  readonly ended: Promise<Exit>;
}

/** The command could not be started; the message says why. */
export class LaunchError extends Error {
  override readonly name = 'LaunchError';
}

const SETPRIV = '/usr/bin/setpriv';

/** Starts a command; it is forked within `around`. Throws LaunchError. */
export async function launch(
  request: Launch,
  clock: Clock,
  write: (stream: Stream, data: Uint8Array) => void,
  around: (fork: () => ChildProcess) => ChildProcess = (fork) => fork(),
): Promise<RunningCommand> {
  const { file, args, options } = await asAccount(request);
  const output = request.capture ? 'pipe' : 'ignore';
  let child: ChildProcess;
  try {
    child = around(() =>
      spawn(file, args, {
        ...options,
        cwd: request.cwd,
        env: { ...request.env },
        detached: true,
        stdio: [request.input ?? 'ignore', output, output, ...(request.third === undefined ? [] : (['pipe'] as const))],
      }),
    );
  } catch (error) {
    throw new LaunchError(await reasonOf(error, request));
  }
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (exitCode, signal) => resolve({ exitCode, signal }));
  });
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  child.stdout?.on('data', (data: Buffer) => write('stdout', data));
  child.stderr?.on('data', (data: Buffer) => write('stderr', data));
  if (request.third !== undefined) child.stdio[3]?.on('data', request.third);
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (error) => reasonOf(error, request).then((reason) => reject(new LaunchError(reason)), reject));
  });
  // After the spawn an error can only be a signal that could not be sent; the exit tells what matters.
  child.on('error', () => undefined);
  if (child.pid === undefined) throw new LaunchError(`cannot run ${request.file}`);
  return { pid: child.pid, ended: exited.then((exit) => readRest(child, closed, clock, exit)) };
}

/**
 * The command has ended, but a daemon it left behind may hold its output open for ever (`service x start`). What the
 * command itself wrote is in the pipe already; the daemon loses the pipe after the grace.
 */
async function readRest(child: ChildProcess, closed: Promise<void>, clock: Clock, exit: Exit): Promise<Exit> {
  await new Promise<void>((resolve) => {
    const grace = clock.after(PIPE_GRACE_MS, resolve);
    void closed.then(() => {
      grace.cancel();
      resolve();
    });
  });
  child.stdout?.destroy();
  child.stderr?.destroy();
  child.stdio[3]?.destroy();
  return exit;
}

/**
 * Node sets user and group but drops the supplementary groups; `setpriv --init-groups` (util-linux) gives the user's
 * own, as initgroups(3) does. Where it is missing the command runs without them.
 */
export async function asAccount(
  request: Pick<Launch, 'account' | 'file' | 'args' | 'env' | 'cwd'>,
): Promise<{ file: string; args: string[]; options: { uid?: number; gid?: number } }> {
  const { account, file } = request;
  const args = [...request.args];
  if (account === null || account.uid === process.getuid?.()) return { file, args, options: {} };
  const switched = { uid: account.uid, gid: account.gid };
  // What is loaded into the command would be loaded into setpriv first, which is root then.
  const loads = Object.keys(request.env).some((name) => name.startsWith('LD_') || name === 'GLIBC_TUNABLES');
  if (loads || !(await isExecutable(SETPRIV))) return { file, args, options: switched };
  if (!(await isRunnable(request))) throw new LaunchError(`cannot run ${file}: no such program`);
  const missing = await missingInterpreter(request);
  if (missing !== null) throw new LaunchError(missing);
  const become = [`--reuid=${account.uid}`, `--regid=${account.gid}`, '--init-groups', '--'];
  return { file: SETPRIV, args: [...become, file, ...args], options: {} };
}

async function isRunnable({ file, env, cwd }: Pick<Launch, 'file' | 'env' | 'cwd'>): Promise<boolean> {
  if (file.includes('/')) return isExecutable(pathOf({ file, cwd }));
  for (const dir of (env.PATH ?? '/usr/bin:/bin').split(delimiter)) {
    if (await isExecutable(join(dir, file))) return true;
  }
  return false;
}

function pathOf({ file, cwd }: Pick<Launch, 'file' | 'cwd'>): string {
  return isAbsolute(file) || cwd === undefined ? file : join(cwd, file);
}

/** The system calls the script missing when the interpreter is that it names. Null: it names none, or it is there. */
async function missingInterpreter({ file, cwd }: Pick<Launch, 'file' | 'cwd'>): Promise<string | null> {
  if (!file.includes('/')) return null;
  const interpreter = interpreterOf(await headOf(pathOf({ file, cwd })).catch(() => Buffer.alloc(0)));
  if (interpreter === null) return null;
  const there = await access(pathOf({ file: interpreter, cwd })).then(
    () => true,
    ({ code }: NodeJS.ErrnoException) => code !== 'ENOENT',
  );
  return there ? null : `cannot run ${file}: there is no ${interpreter.replaceAll('\r', '\\r')}, its interpreter`;
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function reasonOf(error: unknown, { file, cwd }: Launch): Promise<string> {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  switch (code) {
    case 'ENOENT':
      return (
        (await missingInterpreter({ file, cwd })) ??
        `cannot run ${file}: no such program${cwd === undefined ? '' : ' or directory'}`
      );
    case 'EACCES':
      return `cannot run ${file}: permission denied`;
    case 'E2BIG':
      return `cannot run ${file}: arguments and environment are too long`;
    default:
      return `cannot run ${file}: ${error instanceof Error ? error.message : String(error)}`;
  }
}
