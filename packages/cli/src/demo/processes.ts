import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { MusterError } from '../errors.js';

const MUSTER = fileURLToPath(new URL('../../bin/muster.js', import.meta.url));
/** How long a process gets to stop by itself. */
const STOP_MS = 8_000;

interface Started {
  readonly name: string;
  readonly logFile: string;
  readonly child: ChildProcess;
}

/**
 * The demo's own processes. Each has its own process group, so that nothing of it can be left behind, whichever way
 * the demo ends.
 */
export class DemoProcesses {
  readonly directory: string;
  readonly #started: Started[] = [];
  readonly #onExit = (): void => {
    this.#killAll('SIGKILL');
    this.#killHosts();
  };

  constructor(directory: string) {
    this.directory = directory;
    // The last way out: an uncaught error, or process.exit somewhere.
    process.once('exit', this.#onExit);
  }

  /** Starts `muster ARGS`; its output goes to a log file. */
  start(name: string, args: readonly string[]): void {
    const logFile = `${this.directory}/${name}.log`;
    const log = openSync(logFile, 'a', 0o600);
    const child = spawn(process.execPath, [MUSTER, ...args], {
      cwd: this.directory,
      detached: true,
      stdio: ['ignore', log, log],
      env: demoEnvironment(),
    });
    this.#started.push({ name, logFile, child });
  }

  /** Throws with the end of its log when one of the processes has died. */
  check(): void {
    const dead = this.#started.find(({ child }) => child.exitCode !== null || child.signalCode !== null);
    if (dead === undefined) return;
    const log = readFileSync(dead.logFile, 'utf8').trim().split('\n').slice(-5).join('\n');
    throw new MusterError('demo_failed', { reason: `${dead.name} has stopped\n${log}` });
  }

  /** Leaves everything running, on its own; returns the script that stops it and removes the scratch directory. */
  abandon(): string {
    process.off('exit', this.#onExit);
    const pids = this.#started.flatMap(({ child }) => (child.pid === undefined ? [] : [child.pid]));
    for (const { child } of this.#started) child.unref();
    const script = `${this.directory}/stop.sh`;
    const lines = [
      `kill ${pids.join(' ')} 2>/dev/null`,
      `for pid in ${pids.join(' ')}; do while kill -0 $pid 2>/dev/null; do sleep 0.1; done; done`,
      `for file in ${this.directory}/*/${HOSTS}/*/pid; do`,
      '  test -e "$file" && read -r pid _ < "$file" && kill -s KILL -- "-$pid" 2>/dev/null',
      'done',
      `rm -rf ${this.directory}`,
    ];
    writeFileSync(script, `${lines.join('\n')}\n`, { mode: 0o700 });
    return script;
  }

  /** Stops everything, agents before the server, and removes the scratch directory. */
  async stop(): Promise<void> {
    process.off('exit', this.#onExit);
    for (const started of [...this.#started].reverse()) signal(started, 'SIGTERM');
    const gone = Promise.all(
      this.#started.map(async ({ child }) => {
        if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      }),
    );
    const late = AbortSignal.timeout(STOP_MS);
    await Promise.race([gone, once(late, 'abort')]);
    this.#killAll('SIGKILL');
    await gone;
    this.#killHosts();
    rmSync(this.directory, { recursive: true, force: true });
  }

  #killAll(how: NodeJS.Signals): void {
    for (const started of this.#started) signal(started, how);
  }

  /** Tasks outlive their agents, which is right anywhere but here: the processes that run them are ended. */
  #killHosts(): void {
    for (const { name } of this.#started) {
      const hosts = `${this.directory}/${name}/${HOSTS}`;
      for (const host of entries(hosts)) {
        const pid = Number.parseInt(textOf(`${hosts}/${host}/pid`), 10);
        if (pid > 1) signalGroup(pid, 'SIGKILL');
      }
    }
  }
}

/** Where an agent keeps what it knows of the processes that run its tasks, below its data directory. */
const HOSTS = 'tasks/hosts';

/** None when it was never made. */
function entries(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** Empty when the host has ended, and removed it. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** Settings of the caller's own server must not reach the demo's; marks of a test stay. */
function demoEnvironment(): NodeJS.ProcessEnv {
  const kept = ([name]: [string, unknown]) => !name.startsWith('MUSTER_') || name.startsWith('MUSTER_TEST_');
  return Object.fromEntries(Object.entries(process.env).filter(kept));
}

function signal({ child }: Started, how: NodeJS.Signals): void {
  if (child.pid !== undefined) signalGroup(child.pid, how);
}

/** One that is gone already is what we want. */
function signalGroup(pid: number, how: NodeJS.Signals): void {
  try {
    process.kill(-pid, how);
  } catch {}
}

/** Ports that were free just now, all different. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  await Promise.all(
    servers.map(async (server) => {
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
    }),
  );
  const ports = servers.map((server) => {
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  });
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
