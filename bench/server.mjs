import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';

export const MUSTER = fileURLToPath(new URL('../packages/cli/bin/muster.js', import.meta.url));
export const PROFILER = new URL('./profiler.mjs', import.meta.url).href;
/** Looking costs the server something, too. */
const LOOK_EVERY_MS = 100;
const PATIENCE_MS = 120_000;

/**
 * A real `muster server` in a scratch directory; with `databaseUrl` in a database of its own on that PostgreSQL.
 * `profile`: directory for CPU profiles of the server process, of what runs between two calls of `profile`.
 */
export async function startServer({ databaseUrl, profile, flags = [] }) {
  const dir = mkdtempSync(join(tmpdir(), 'muster-bench-'));
  const database = databaseUrl === undefined ? undefined : await createDatabase(databaseUrl);
  const [http, heartbeat, command] = [await freePort(), await freePort(), await freePort()];
  const args = ['server', '--data-dir', dir, '--http', `127.0.0.1:${http}`, '--log-level', 'warn'];
  args.push('--heartbeat', `tcp://127.0.0.1:${heartbeat}`, '--command', `tcp://127.0.0.1:${command}`);
  args.push('--stomp', '127.0.0.1:0', ...flags);
  if (database !== undefined) args.push('--database-url', database.url);
  const nodeArgs = profile === undefined ? [] : ['--import', PROFILER];
  const env = { ...process.env, ...(profile === undefined ? {} : { MUSTER_BENCH_PROFILE: resolve(profile) }) };
  const url = `http://127.0.0.1:${http}`;
  let child;
  let exited;

  const start = async () => {
    child = spawn(process.execPath, [...nodeArgs, MUSTER, ...args], {
      cwd: dir,
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    exited = once(child, 'exit');
    const answered = until('the server to answer', async () => (await fetch(`${url}/_status`)).ok);
    const gone = exited.then(([code]) => Promise.reject(new Error(`the server exited with ${code}`)));
    // Who loses the race is heard of no more.
    for (const loser of [answered, gone]) loser.catch(() => undefined);
    await Promise.race([answered, gone]);
  };
  const end = async (signal = 'SIGTERM') => {
    child.kill(signal);
    await exited;
  };
  const stop = async () => {
    await end();
    await database?.drop();
    rmSync(dir, { recursive: true, force: true });
  };
  try {
    await start();
  } catch (error) {
    await stop();
    throw error;
  }
  const admin = { name: 'admin', privateKey: readFileSync(join(dir, 'admin.pem'), 'utf8') };
  return {
    url,
    admin,
    /** Its scratch directory. */
    dir,
    /** undefined: SQLite. */
    databaseUrl: database?.url,
    /** For commands of the CLI. */
    cliConfig: join(dir, 'muster.yaml'),
    get pid() {
      return child.pid;
    },
    /** Begins a profile, or ends one. */
    profile() {
      if (profile !== undefined) child.kill('SIGUSR2');
    },
    /** With the same data and addresses, as after a crash. Resolves when it answers again. */
    async restart() {
      await end('SIGKILL');
      await start();
    },
    stop,
  };
}

export async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

export async function until(what, probe, patienceMs = PATIENCE_MS) {
  const end = Date.now() + patienceMs;
  let last;
  while (Date.now() < end) {
    try {
      const value = await probe();
      if (value) return value;
    } catch (error) {
      last = error;
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  throw new Error(`waited ${patienceMs} ms for ${what}${last === undefined ? '' : `: ${last.message}`}`);
}

export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

export async function createDatabase(base) {
  const name = `muster_bench_${randomBytes(6).toString('hex')}`;
  await administer(base, `CREATE DATABASE ${name}`);
  const url = new URL(base);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => administer(base, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) };
}

/** The processes of PostgreSQL that serve a database, where it runs on this machine. */
export async function backendsOf(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query(
      'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    return rows.map(({ pid }) => pid).filter((pid) => existsSync(`/proc/${pid}/stat`));
  } finally {
    await client.end();
  }
}

async function administer(connectionString, statement) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
