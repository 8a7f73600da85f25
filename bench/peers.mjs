import { fork, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { backendsOf, createDatabase, freePort, until } from './server.mjs';
import { clocked, progressing } from './tasks.mjs';

const DIR = fileURLToPath(new URL('./peers/', import.meta.url));
const WORKER = join(DIR, 'worker.mjs');
const ADDED_AT_ONCE = 1000;

/** The other systems, in a folder of their own: the project does not depend on them. */
export function installPeers() {
  const installed = join(DIR, 'node_modules', '.package-lock.json');
  if (existsSync(installed) && statSync(installed).mtimeMs > statSync(join(DIR, 'package-lock.json')).mtimeMs) return;
  console.error('installing what is measured beside (bench/peers)');
  const { status } = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: DIR,
    stdio: ['ignore', 2, 2],
  });
  if (status !== 0) throw new Error('npm ci in bench/peers failed');
}

/**
 * A queue of another system with worker processes, of which each runs `slots` tasks at one time. The processes stay, as agents
 * do, so that what was compiled in one round need not be in the next.
 */
export class Peer {
  #name;
  #database;
  #producer;
  #workers = [];

  /** @param database {url, drop, pid}: where it keeps its tasks, for itself; its process, if it is one. */
  static async start(name, database, { workers, slots }) {
    const peer = new Peer();
    peer.#name = name;
    peer.#database = database;
    try {
      const { prepare, producer } = await import(`./peers/${name}.mjs`);
      await prepare(database.url);
      peer.#producer = await producer(database.url);
      await peer.#startWorkers(workers, slots);
    } catch (error) {
      await peer.stop();
      throw error;
    }
    return peer;
  }

  /** From the first of so many tasks that is added until the last is done, and that is stored: as `clocked` says it. */
  async endToEnd(tasks) {
    await this.#begin();
    const all = this.#done + tasks;
    const took = await clocked(
      () => this.#processes(),
      () => Promise.all([this.#add(tasks), this.#untilDone(all)]),
    );
    await this.#end();
    return took;
  }

  /** Until all of a backlog is done. */
  async backlog(tasks) {
    await this.#add(tasks);
    const all = this.#done + tasks;
    const took = await clocked(
      () => this.#processes(),
      () => Promise.all([this.#begin(), this.#untilDone(all)]),
    );
    await this.#end();
    return took;
  }

  /** Who does the work, but for this process, which adds the tasks. */
  async #processes() {
    const { url, pid } = this.#database;
    const database = pid === undefined ? { postgres: await backendsOf(url) } : { redis: [pid] };
    return new Map(Object.entries({ workers: this.#workers.map(({ child }) => child.pid), ...database }));
  }

  async #add(tasks) {
    for (let from = 0; from < tasks; from += ADDED_AT_ONCE) {
      const count = Math.min(ADDED_AT_ONCE, tasks - from);
      await this.#producer.add(Array.from({ length: count }, (_, n) => ({ n: from + n })));
    }
  }

  async #startWorkers(workers, slots) {
    for (let n = 0; n < workers; n++) {
      const child = fork(WORKER, [this.#name, this.#database.url, String(slots)], { stdio: ['ignore', 2, 2, 'ipc'] });
      const worker = { child, done: 0 };
      child.on('message', ({ done = worker.done }) => {
        worker.done = done;
      });
      this.#workers.push(worker);
    }
    await this.#hear('ready');
  }

  /** Of all: they are there, or they have begun. */
  async #hear(what, order) {
    await Promise.all(
      this.#workers.map(
        ({ child }) =>
          new Promise((resolve, reject) => {
            const gone = (code) => reject(new Error(`a worker of ${this.#name} exited with ${code}`));
            const heard = (message) => {
              if (!message[what]) return;
              child.off('exit', gone);
              child.off('message', heard);
              resolve();
            };
            child.once('exit', gone);
            child.on('message', heard);
            if (order !== undefined) child.send(order);
          }),
      ),
    );
  }

  #begin() {
    return this.#hear('begun', 'begin');
  }

  #end() {
    return this.#hear('ended', 'end');
  }

  /** By all workers, since they were started. */
  get #done() {
    return this.#workers.reduce((sum, { done }) => sum + done, 0);
  }

  /** Until so many are done. The database is not asked before the workers have said that they have done them. */
  async #untilDone(all) {
    await progressing(async () => all - this.#done, 'tasks');
    await progressing(async () => ((await this.#producer.isEmpty()) ? 0 : 1), 'completions');
  }

  async #stopWorkers() {
    const workers = this.#workers.splice(0);
    await Promise.all(
      workers.map(async ({ child }) => {
        if (child.exitCode !== null) return;
        const gone = once(child, 'exit');
        child.kill('SIGKILL');
        await gone;
      }),
    );
  }

  async stop() {
    await this.#stopWorkers();
    await this.#producer?.close();
    await this.#database.drop();
  }
}

/** A Redis of its own that writes a log of all changes; `fsync` as Redis calls it. Null where none is installed. */
export async function startRedis(fsync) {
  if (spawnSync('redis-server', ['--version'], { stdio: 'ignore' }).error !== undefined) return null;
  const dir = mkdtempSync(join(tmpdir(), 'muster-bench-redis-'));
  const port = await freePort();
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', dir, '--save', ''];
  args.push('--appendonly', 'yes', '--appendfsync', fsync, '--maxmemory-policy', 'noeviction');
  const child = spawn('redis-server', args, { stdio: 'ignore' });
  const exited = once(child, 'exit');
  const drop = async () => {
    child.kill('SIGTERM');
    await exited;
    rmSync(dir, { recursive: true, force: true });
  };
  try {
    await until('Redis to answer', async () => {
      const socket = connect(port, '127.0.0.1');
      try {
        await once(socket, 'connect');
        return true;
      } finally {
        socket.destroy();
      }
    });
  } catch (error) {
    await drop();
    throw error;
  }
  return { url: `redis://127.0.0.1:${port}`, pid: child.pid, drop };
}

/** Name, and how to start it; for all that can be started here. */
export function taskPeers(databaseUrl, size) {
  const redis = async (fsync) => {
    const database = await startRedis(fsync);
    return database === null ? null : Peer.start('bullmq', database, size);
  };
  return {
    'graphile-worker': async () => Peer.start('graphile-worker', await createDatabase(databaseUrl), size),
    'pg-boss': async () => Peer.start('pg-boss', await createDatabase(databaseUrl), size),
    /** As BullMQ advises: a crash of the machine may take the last second. */
    bullmq: () => redis('everysec'),
    'bullmq-fsync-always': () => redis('always'),
  };
}
