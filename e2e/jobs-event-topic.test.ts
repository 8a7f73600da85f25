import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Connection } from 'rabbitmq-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Cluster } from './support/cluster.js';
import type { Job } from './support/jobs.js';
import { JobsApart } from './support/jobs-apart.js';
import { neverHarmed } from './support/unharmed.js';
import { until } from './support/until.js';

/**
 * What somebody else's program hears of jobs on RabbitMQ, by the names of the sheet (§5.1). The acceptance of a job is stored by a
 * server, all else by a worker in a process of its own.
 */
let apart: JobsApart;
let cluster: Cluster;
let connection: Connection;
beforeAll(async () => {
  apart = await JobsApart.start();
  cluster = apart.cluster;
  await apart.processes.start('w1', 'worker', '--name', 'w1');
  connection = new Connection(apart.rabbitmq.url);
});
neverHarmed(() => apart);
afterAll(async () => {
  connection?.unsafeDestroy();
  await apart?.stop();
});

const EXCHANGE = 'aloe.jobq.default.event.Exchange';
const KEYS = 'aloe.jobq.event.subscriber.#';

interface Heard {
  readonly key: string;
  readonly body: { readonly msgType: string; readonly correlationId: string; readonly [name: string]: unknown };
}

test('a queue that is bound to the events exchange of the organization gets each status of a job, with its body', {
  timeout: 120_000,
}, async () => {
  mkdirSync(join(cluster.dir, 'work'));
  writeFileSync(
    join(cluster.dir, 'hello.json'),
    JSON.stringify({ name: 'hello', version: '1.0', template: 'echo hi\n' }),
  );
  await cluster.muster('system', 'create', 'here', '--type', 'local', '--root', join(cluster.dir, 'work'), '--default');
  await cluster.muster('app', 'create', '--file', join(cluster.dir, 'hello.json'));
  const channel = await connection.acquire();
  const { queue } = await channel.queueDeclare({ exclusive: true });
  await channel.queueBind({ queue, exchange: EXCHANGE, routingKey: KEYS });
  const heard: Heard[] = [];
  await channel.basicConsume({ queue, noAck: true }, ({ routingKey, body }) => {
    heard.push({ key: routingKey, body: JSON.parse(String(body)) });
  });
  const job = await cluster.json<Job>('job', 'run', 'hello-1.0', '--wait');
  expect(job.status).toBe('FINISHED');
  const history = await cluster.json<readonly { readonly status: string }[]>('job', 'history', job.id);
  const statuses = history.map(({ status }) => status);
  await until('the last status', () => heard.some(({ body }) => body.status === 'FINISHED'));
  const bodies = heard.map(({ body }) => body);
  expect(bodies.map(({ status }) => status).sort()).toEqual([...statuses].sort());
  for (const { key, body } of heard) {
    expect(key).toBe(`aloe.jobq.event.subscriber.jid.${job.id}`);
    expect(body).toMatchObject({
      msgType: `JOB_${body.status}`,
      correlationId: job.id,
      senderId: expect.any(String),
      at: expect.any(Number),
      job: job.id,
      owner: 'admin',
      app: 'hello-1.0',
      system: 'here',
      data: { message: expect.any(String) },
    });
  }
});
