import { afterEach, beforeEach, expect, test } from 'vitest';
import { finished, type PushServer, startPushServer } from './support/push-server.js';

/** What `/metrics` says about push jobs. */

let server: PushServer;
beforeEach(async () => {
  server = await startPushServer();
});
afterEach(() => server.close());

async function series(): Promise<ReadonlyMap<string, number>> {
  const text = await (await server.send({ path: '/metrics' })).text();
  const lines = text.split('\n').filter((line) => line.startsWith('muster_push_'));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]));
}

/** As soon as the last transitions are stored. */
async function settles(expected: Readonly<Record<string, number>>): Promise<void> {
  await expect.poll(async () => Object.fromEntries(await series())).toMatchObject(expected);
}

test('before any job every value of every label is there, and zero', async () => {
  const all = await series();
  for (const name of [
    'muster_push_jobs{phase="running"}',
    'muster_push_job_nodes{standing="ready"}',
    'muster_push_jobs_ended_total{status="quorum_failed"}',
    'muster_push_job_nodes_ended_total{status="crashed"}',
    'muster_push_job_duration_seconds_count',
  ]) {
    expect([name, all.get(name)]).toEqual([name, 0]);
  }
});

test('a running job counts with its nodes: those that run, and those that wait for their start', async () => {
  for (const name of ['A', 'B', 'C']) server.nodes.enter(server.org.id, name, 'run');
  const id = await server.start({ command: 'x', nodes: ['A', 'B', 'C'], concurrency: 1 });
  await settles({
    'muster_push_jobs{phase="running"}': 1,
    'muster_push_job_nodes{standing="running"}': 1,
    'muster_push_job_nodes{standing="ready"}': 2,
  });
  await server.send({ method: 'PUT', path: `jobs/${id}/abort` });
  await settles({
    'muster_push_jobs{phase="running"}': 0,
    'muster_push_job_nodes{standing="running"}': 0,
    'muster_push_job_nodes{standing="ready"}': 0,
    'muster_push_jobs_ended_total{status="aborted"}': 1,
    'muster_push_job_nodes_ended_total{status="aborted"}': 1,
    'muster_push_job_nodes_ended_total{status="was_ready"}': 2,
  });
});

test('ends of jobs and of their nodes are counted by status, each once', async () => {
  server.nodes.enter(server.org.id, 'GOOD', 'succeed');
  server.nodes.enter(server.org.id, 'BAD', 'fail');
  server.nodes.enter(server.org.id, 'NO', 'refuse');
  await server.finish(await server.start({ command: 'x', nodes: ['GOOD', 'BAD', 'NO'], quorum: 2 }));
  await server.finish(await server.start({ command: 'x', nodes: ['GOOD', 'NO'], quorum: 2 }));
  await settles({
    'muster_push_jobs_ended_total{status="complete"}': 1,
    'muster_push_jobs_ended_total{status="quorum_failed"}': 1,
    'muster_push_job_nodes_ended_total{status="succeeded"}': 1,
    'muster_push_job_nodes_ended_total{status="failed"}': 1,
    'muster_push_job_nodes_ended_total{status="nacked"}': 2,
    'muster_push_job_nodes_ended_total{status="was_ready"}': 1,
    muster_push_job_duration_seconds_count: 2,
  });
});

test('the duration of a job is from its creation to its end', async () => {
  server.nodes.enter(server.org.id, 'A', 'run');
  const id = await server.start({ command: 'x', nodes: ['A'] });
  await settles({ 'muster_push_job_nodes{standing="running"}': 1 });
  server.clock.advance(70_000);
  server.nodes.play('A', finished(id, 'succeeded'));
  await settles({
    muster_push_job_duration_seconds_sum: 70,
    'muster_push_job_duration_seconds_bucket{le="60"}': 0,
    'muster_push_job_duration_seconds_bucket{le="300"}': 1,
  });
});
