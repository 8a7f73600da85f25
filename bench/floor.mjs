import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { backendsOf, createDatabase } from './server.mjs';
import { clocked } from './tasks.mjs';

const part = (name) => fileURLToPath(new URL(`./floor/${name}.mjs`, import.meta.url));
const PLUGIN = fileURLToPath(new URL('./noop-plugin.mjs', import.meta.url));

const TABLES = `
  create table tasks (
    id text primary key, queue_id text not null, params text not null, status bigint not null, node text,
    attempt bigint not null, ctime bigint not null, mtime bigint not null, started_at bigint, ended_at bigint
  );
  create index tasks_status on tasks (queue_id, status, id);
  create table events (position bigserial primary key, at bigint not null, told text not null)`;

/**
 * The least that does what Muster promises of a task: a server that stores an assignment before it leaves and an outcome before it is
 * settled, each with its event; an agent on each node; and a process beside it, apart from it, in which plugins run. Nothing is
 * checked, signed, retried or shown. What it uses of each process is what no change of Muster's code can get below, as long as it
 * has these processes.
 */
export async function startFloor(databaseUrl, { agents, slots }) {
  const database = await createDatabase(databaseUrl);
  const dir = mkdtempSync(join(tmpdir(), 'muster-bench-floor-'));
  const children = { server: [], agents: [], hosts: [] };
  const begin = async (kind, file, ...args) => {
    const child = fork(part(file), args, { stdio: ['ignore', 2, 2, 'ipc'] });
    children[kind].push(child);
    return child;
  };
  const stop = async () => {
    for (const child of Object.values(children).flat()) child.kill('SIGKILL');
    await database.drop();
    rmSync(dir, { recursive: true, force: true });
  };
  try {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query(TABLES);
    await client.end();
    const socket = join(dir, 'server');
    const server = await begin('server', 'server', database.url, socket, String(agents), String(slots));
    const ready = heard(server, 'ready');
    for (let n = 0; n < agents; n++) {
      const host = join(dir, `host-${n}`);
      await heard(await begin('hosts', 'host', host, PLUGIN), 'ready');
      await begin('agents', 'agent', socket, host, String(slots));
    }
    await ready;
    const processes = async () => {
      const pids = Object.entries(children).map(([kind, all]) => [kind, all.map(({ pid }) => pid)]);
      return new Map([...pids, ['postgres', await backendsOf(database.url)]]);
    };
    return {
      async backlog(tasks) {
        const added = heard(server, 'added');
        server.send({ add: tasks });
        await added;
        return clocked(processes, async () => {
          const done = heard(server, 'done');
          server.send({ work: tasks });
          await done;
        });
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function heard(child, what) {
  return new Promise((resolve, reject) => {
    const gone = (code) => reject(new Error(`a process of the floor exited with ${code}`));
    const hear = (message) => {
      if (!message[what]) return;
      child.off('exit', gone);
      child.off('message', hear);
      resolve();
    };
    child.once('exit', gone);
    child.on('message', hear);
  });
}
