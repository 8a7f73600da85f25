import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { promisify } from 'node:util';

export const run = promisify(execFile);

/** Where Debian puts it. @throws Error that says what to install. */
export function installed(path: string, packageName: string): string {
  if (!existsSync(path)) throw new Error(`these tests need ${path}: apt-get install ${packageName}`);
  return path;
}

/** A port of this machine that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('there is no port');
  return address.port;
}

export interface Daemon {
  readonly pid: number;
  stop(): Promise<void>;
}

/** A program that stays, once `ready` says so. What it printed is told when it does not get there. */
export async function daemon(
  file: string,
  args: readonly string[],
  ready: () => Promise<boolean>,
  env: NodeJS.ProcessEnv = process.env,
): Promise<Daemon> {
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => (printed += piece));
  for (let tries = 0; !(await ready().catch(() => false)); tries++) {
    if (child.exitCode !== null || tries > 300) {
      child.kill('SIGKILL');
      throw new Error(`${file} is not ready:\n${printed.slice(-4000)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return { pid: Number(child.pid), stop: () => stopped(child) };
}

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const late = setTimeout(() => child.kill('SIGKILL'), 5000);
  await ended;
  clearTimeout(late);
}

export function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => socket.destroy() && resolve(true)).once('error', () => resolve(false));
  });
}
