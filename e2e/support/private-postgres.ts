import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import pg from 'pg';
import type { TestDatabase } from '../../packages/platform/test/support/database.js';
import { freePorts } from './ports.js';
import { commandLineOf } from './started-process.js';
import { until } from './until.js';

/** Where Debian keeps the programs of each version. */
const DEBIAN = '/usr/lib/postgresql';

/** initdb refuses to run as root. */
const UNPRIVILEGED = 'nobody';

function programs(): string {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort().reverse() : [];
  const found = [
    ...(process.env.PATH ?? '').split(delimiter),
    ...versions.map((version) => join(DEBIAN, version, 'bin')),
  ].find((dir) => existsSync(join(dir, 'initdb')) && existsSync(join(dir, 'postgres')));
  if (found === undefined) throw new Error(`initdb and postgres are neither in PATH nor below ${DEBIAN}`);
  return found;
}

function owner(): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string): number => Number(execFileSync('id', [flag, UNPRIVILEGED], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/** Processes that PostgreSQL has started: those that serve clients, or all. */
function sessionsOf(server: number, what: 'everything' | 'sessions'): number[] {
  const children = readFileSync(`/proc/${server}/task/${server}/children`, 'utf8').trim().split(' ').map(Number);
  // Those of clients say from where they are connected.
  const serves = (pid: number) => /127\.0\.0\.1\(/.test(commandLineOf(pid));
  return what === 'everything' ? children : children.filter(serves);
}

/** A PostgreSQL server of one test file's own, which may be broken without disturbing anybody else. */
export class PrivatePostgres implements TestDatabase {
  readonly url: string;
  readonly #dir: string;
  readonly #port: number;
  readonly #bin: string;
  readonly #owner = owner();
  #server: ChildProcess | null = null;
  #frozen: number[] = [];

  private constructor(dir: string, port: number) {
    this.#dir = dir;
    this.#port = port;
    this.#bin = programs();
    this.url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  }

  static async start(): Promise<PrivatePostgres> {
    const dir = mkdtempSync(join(tmpdir(), 'muster-postgres-'));
    const [port = 0] = await freePorts(1);
    const postgres = new PrivatePostgres(dir, port);
    postgres.#initialize();
    await postgres.start();
    return postgres;
  }

  get #data(): string {
    return join(this.#dir, 'data');
  }

  #initialize(): void {
    const { uid, gid } = this.#owner;
    if (uid !== undefined && gid !== undefined) chownSync(this.#dir, uid, gid);
    execFileSync(join(this.#bin, 'initdb'), ['-D', this.#data, '-U', 'postgres', '-A', 'trust', '--no-sync'], {
      ...this.#owner,
      cwd: this.#dir,
      stdio: 'ignore',
    });
  }

  async start(): Promise<void> {
    const settings = [`port=${this.#port}`, 'listen_addresses=127.0.0.1', `unix_socket_directories=${this.#dir}`];
    const args = settings.flatMap((setting) => ['-c', setting]);
    this.#server = spawn(join(this.#bin, 'postgres'), ['-D', this.#data, ...args], {
      ...this.#owner,
      cwd: this.#dir,
      stdio: 'ignore',
    });
    await until('PostgreSQL to answer', () => this.query('select 1'));
  }

  /** `INT` ends every session at once, `QUIT` is a crash: no checkpoint, recovery from the log at the next start. */
  async stop(signal: 'SIGINT' | 'SIGQUIT'): Promise<void> {
    const server = this.#server;
    if (server === null) return;
    this.#server = null;
    const gone = once(server, 'exit');
    server.kill(signal);
    await gone;
  }

  /**
   * Nothing of it goes on, as in a paused virtual machine: connections stay, new ones are taken up by the kernel, and
   * nobody answers. `sessions`: only those that serve clients now; new ones are served.
   */
  freeze(what: 'everything' | 'sessions'): void {
    const pid = this.#server?.pid ?? 0;
    this.#frozen = [...(what === 'everything' ? [pid] : []), ...sessionsOf(pid, what)];
    for (const process_ of this.#frozen) process.kill(process_, 'SIGSTOP');
  }

  thaw(): void {
    for (const pid of this.#frozen.splice(0)) process.kill(pid, 'SIGCONT');
  }

  async query(text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const client = new pg.Client({ connectionString: this.url });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  }

  /** Ends every other session, as an administrator or a proxy does it; returns how many there were. */
  async terminateSessions(): Promise<number> {
    const ended = await this.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend'",
    );
    return ended.length;
  }

  async release(): Promise<void> {
    this.thaw();
    await this.stop('SIGQUIT');
    rmSync(this.#dir, { recursive: true, force: true });
  }
}
