import { Agent, request } from 'node:http';
import pg from 'pg';
import { call, ORG } from './api.mjs';
import { startRabbitMq } from './rabbitmq.mjs';
import { startServer } from './server.mjs';

/** What the figures of jobs share. */

export const POSTGRES = 'postgres://postgres@127.0.0.1:5432/postgres';
const APP = 'true-1.0';
const CONNECTIONS = 64;
const DAY_SECONDS = 86_400;

/** A server, with a RabbitMQ of its own where one is installed, an app that does nothing, and this host to run it on. */
export async function startJobServer({ databaseUrl = POSTGRES, profile, flags = [], rabbitmq = true }) {
  const broker = rabbitmq ? await startRabbitMq() : null;
  const given = broker === null ? flags : ['--broker-url', broker.url, ...flags];
  let server;
  try {
    server = await startServer({ databaseUrl, profile, flags: given });
  } catch (error) {
    await broker?.stop();
    throw error;
  }
  const { token } = await ok(call(server, 'POST', '/access_tokens', { ttl: DAY_SECONDS, organization: ORG }));
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const at = new URL(server.url);
  const jobs = {
    server,
    brokerUrl: broker?.url ?? null,
    broker: broker === null ? 'embedded' : 'rabbitmq',
    database: new pg.Pool({ connectionString: server.databaseUrl, max: 4 }),
    app: APP,
    /** A body as it is sent. */
    body: (given = {}) => JSON.stringify({ name: 'bench', appId: APP, archive: false, ...given }),
    /** Resolves when a job was accepted: with its id. */
    submit(body) {
      return new Promise((resolve, reject) => {
        const asked = request(
          {
            agent,
            host: at.hostname,
            port: at.port,
            method: 'POST',
            path: '/jobs/v2',
            headers: {
              authorization: `Bearer ${token}`,
              'content-type': 'application/json',
              'content-length': Buffer.byteLength(body),
            },
          },
          (answer) => {
            const parts = [];
            answer.on('data', (part) => parts.push(part));
            answer.on('error', reject);
            answer.on('end', () => {
              const text = Buffer.concat(parts).toString('utf8');
              if (answer.statusCode === 201) resolve(/"id":"([^"]+)"/.exec(text)[1]);
              else reject(new Error(`POST /jobs/v2: ${answer.statusCode} ${text}`));
            });
          },
        );
        asked.on('error', reject);
        asked.end(body);
      });
    },
    async system(name, given = {}) {
      const body = { name, type: 'local', scheduler: 'fork', root: server.dir, ...given };
      await ok(call(server, 'POST', `/organizations/${ORG}/systems/v2`, body));
    },
    change: (name, action) => ok(call(server, 'PUT', `/organizations/${ORG}/systems/v2/${name}`, { action })),
    /** What of the program's own is not the figure's: `true` unless given. */
    async register(command = ['true']) {
      const app = { id: APP, name: 'true', version: '1.0', executionType: 'CLI', parallelism: 'SERIAL', command };
      await ok(
        call(server, 'POST', `/organizations/${ORG}/apps/v2`, { ...app, inputs: [], parameters: [], isPublic: true }),
      );
    },
    async count(where) {
      const { rows } = await jobs.database.query(`select count(*)::int as count from jobs where ${where}`);
      return rows[0].count;
    },
    /** Transactions of the whole database so far. */
    async transactions() {
      const text = 'select xact_commit::int as count from pg_stat_database where datname = current_database()';
      return (await jobs.database.query(text)).rows[0].count;
    },
    async stop() {
      agent.destroy();
      await jobs.database.end();
      await server.stop();
      await broker?.stop();
    },
  };
  try {
    await jobs.system('here', { default: true });
  } catch (error) {
    await jobs.stop();
    throw error;
  }
  return jobs;
}

/** A worker of so many slots, which begins jobs as fast as it can. */
export const slotsOf = (slots) => ['--jobs-slots', String(slots), '--jobs-starts', '1000000'];

/** So many at one time, `count` in all. Answers the seconds that it took. */
export async function atOnce(width, count, work) {
  let next = 0;
  const began = performance.now();
  const one = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: width }, one));
  return (performance.now() - began) / 1000;
}

export async function ok(answering) {
  const answer = await answering;
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${new URL(answer.url).pathname}: ${answer.status} ${text}`);
  return JSON.parse(text);
}
