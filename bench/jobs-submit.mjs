import { randomUUID } from 'node:crypto';
import { Connection } from 'rabbitmq-client';
import { atOnce, startJobServer } from './jobs.mjs';
import { cpuSeconds } from './proc.mjs';

export const about = 'Jobs a second that are accepted durably over HTTP, beside publishing and inserting alone';
export const defaults = { connections: 64, rounds: 3, seconds: 8 };

const TARGET = 2000;
const QUEUE = 'muster-bench-floor';

/** Nobody works on them meanwhile. In the same run, one after the other: what RabbitMQ confirms, and what PostgreSQL stores. */
export async function* run({ connections, rounds, seconds, databaseUrl, profile }) {
  const jobs = await startJobServer({ databaseUrl, profile, flags: ['--no-workers'] });
  try {
    await jobs.register();
    const body = jobs.body();
    await atOnce(connections, connections * 10, () => jobs.submit(body));
    const publish = jobs.brokerUrl === null ? null : await publisher(jobs.brokerUrl, body);
    const insert = await inserter(jobs.database, body);
    const rates = [];
    for (let round = 0; round < rounds; round++) {
      jobs.server.profile();
      const cpu = cpuSeconds(jobs.server.pid);
      const submitted = await during(seconds, connections, () => jobs.submit(body));
      const spent = ((cpuSeconds(jobs.server.pid) - cpu) * 1e6) / (submitted * seconds);
      jobs.server.profile();
      const published = publish === null ? null : await during(seconds / 2, connections, () => publish.one());
      const inserted = await during(seconds / 2, connections, () => insert());
      rates.push({ submitted, published, inserted, spent: Math.round(spent) });
      console.error(
        `submitted ${submitted}/s (${Math.round(spent)} µs of the server's CPU each), published ${published}/s, inserted ${inserted}/s`,
      );
    }
    await publish?.stop();
    const of = (name) => rates.map((rate) => rate[name]).toSorted((a, b) => a - b)[Math.floor(rounds / 2)];
    const value = of('submitted');
    const floor = of('published');
    yield {
      figure: 'jobs-submit',
      value,
      unit: 'jobs/s',
      target: TARGET,
      floor,
      ratio: floor === null ? null : Number((value / floor).toFixed(2)),
      inserts: of('inserted'),
      cpu_us: of('spent'),
      connections,
      broker: jobs.broker,
      database: 'postgres',
    };
  } finally {
    await jobs.stop();
  }
}

async function during(seconds, width, work) {
  const end = performance.now() + seconds * 1000;
  let done = 0;
  const one = async () => {
    while (performance.now() < end) {
      await work();
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: width }, one));
  return Math.round(done / seconds);
}

/** One confirmed message after the other, to a quorum queue, as large as a job’s. */
async function publisher(url, body) {
  const connection = new Connection(url);
  const made = connection.createPublisher({
    confirm: true,
    queues: [{ queue: QUEUE, durable: true, arguments: { 'x-queue-type': 'quorum' } }],
  });
  const content = Buffer.from(body.padEnd(1500));
  return {
    one: () => made.send({ routingKey: QUEUE, durable: true }, content),
    async stop() {
      await connection.queueDelete(QUEUE);
      await made.close();
      await connection.close();
    },
  };
}

/** One row after the other, each durable when it is answered. */
async function inserter(database, body) {
  await database.query('create table bench_floor (id text primary key, body text not null)');
  return () => database.query('insert into bench_floor values ($1, $2)', [randomUUID(), body.padEnd(1500)]);
}
