import { namesOf, submissionTopology } from '@muster/broker';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { obstacle } from '../../src/recovery/conditions/index.js';
import { routingAttributes } from '../../src/routing/attributes.js';
import { JobQueues } from '../../src/routing/job-queues.js';
import { newJob, ORG, QUEUE } from '../support/jobs.js';
import { openRecovery, type RecoveryFixture } from '../support/recovery.js';

const MINUTE = 60_000;
const LONG = `${namesOf(ORG.name).submitPrefix}Long`;
const SHORT = `${namesOf(ORG.name).submitPrefix}Short`;
const DOWN = obstacle('CONNECTION_FAILURE', 'hpc1 cannot be reached', { systemId: 'hpc1' });

let fixture: RecoveryFixture;
let queues: JobQueues;
/** Queues to which something was published, and the queue that the message names. */
let taken: string[][];
beforeEach(async () => {
  fixture = await openRecovery();
  const { store, broker } = fixture;
  const quiet = () => undefined;
  const { recorder, clock } = fixture.jobs;
  const random = (size: number) => crypto.getRandomValues(new Uint8Array(size));
  queues = new JobQueues({ store, recorder, clock, broker, random, logger: { info: quiet, warn: quiet } });
  taken = [];
  for (const queue of [QUEUE, LONG, SHORT]) {
    await broker.declare(submissionTopology(ORG.name, queue));
    broker.consume(queue, { slots: 10 }, async (delivery) => {
      taken.push([queue, JSON.parse(delivery.body.toString()).job.queue]);
      await delivery.ack();
    });
  }
  fixture.systems.trouble.set('hpc1', 'CONNECTION_FAILURE');
  await fixture.start();
});
afterEach(async () => {
  queues.stop();
  await fixture.close();
});

const chosen = () => queues.choose(ORG, routingAttributes(newJob('j-007', { owner: 'jdoe' }), 0));

it('A.7: a job goes on in the queue that is stored in it, though the filter would have it elsewhere by now', async () => {
  await queues.put(ORG, [{ name: LONG, priority: 3, filter: "owner = 'jdoe'" }], []);
  const queue = await chosen();
  expect(queue).toBe(LONG);
  await fixture.blocked('a-007', DOWN, 'STAGING_INPUTS', { queue });
  await fixture.record({ attempts: 0 });
  await queues.put(
    ORG,
    [
      { name: LONG, priority: 2, filter: "owner = 'nobody'" },
      { name: SHORT, priority: 4, filter: "owner = 'jdoe'" },
    ],
    [],
  );
  expect(await chosen()).toBe(SHORT);
  fixture.systems.trouble.clear();
  fixture.jobs.clock.advance(MINUTE);
  await expect.poll(() => taken).toEqual([[LONG, LONG]]);
  expect(await fixture.jobs.read('a-007')).toMatchObject({ status: 'STAGING_INPUTS', queue: LONG });
  await fixture.empty();
  expect(taken).toHaveLength(1);
});

it('A.7: jobs of several queues that wait for the same thing go on, each in its own', async () => {
  for (const [uuid, queue] of [
    ['a-007', LONG],
    ['b-007', SHORT],
    ['c-007', QUEUE],
  ] as const) {
    await fixture.blocked(uuid, DOWN, 'STAGING_INPUTS', { queue });
  }
  await fixture.record({ attempts: 0 });
  fixture.systems.trouble.clear();
  fixture.jobs.clock.advance(MINUTE);
  await expect.poll(() => taken.toSorted()).toEqual([QUEUE, LONG, SHORT].map((queue) => [queue, queue]).toSorted());
});

it('A.7: so does one that was paused, and is resumed', async () => {
  const job = await fixture.jobs.job('a-007', 'RUNNING', { queue: LONG });
  await fixture.jobs.jobs.change(job, { to: 'PAUSED' });
  await fixture.send({ msgType: 'RESUME_JOB', jobUuid: 'a-007' });
  await expect.poll(() => taken).toEqual([[LONG, LONG]]);
});
