import { correlationEventKey, jobEventKey, namesOf, type Outgoing, type Topology } from '@muster/broker';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EventTopic } from '../../src/notifications/topic.js';
import { type JobFixture, ORG, openJobs } from '../support/jobs.js';

let fixture: JobFixture;
let topic: EventTopic | null;
beforeEach(async () => {
  fixture = await openJobs();
  topic = null;
});
afterEach(async () => {
  topic?.stop();
  await fixture.close();
});

function open(kind: 'rabbitmq' | 'embedded', refuse = false) {
  const declared: Topology[] = [];
  const published: Outgoing[] = [];
  const quiet = () => undefined;
  topic = new EventTopic({
    recorder: fixture.recorder,
    broker: {
      kind,
      async declare(topology) {
        declared.push(topology);
      },
      async publish(message) {
        if (refuse) throw new Error('away');
        published.push(message);
      },
    },
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  });
  topic.start();
  return { declared, published };
}

describe('the events topic of RabbitMQ', () => {
  it('gets each change of a job of its organization, once it is stored', async () => {
    const { declared, published } = open('rabbitmq');
    await fixture.job('j-007', 'PROCESSING_INPUTS');
    await expect.poll(() => published).toHaveLength(3);
    expect(declared).toHaveLength(1);
    const bodies = published.map(({ body }) => JSON.parse(String(body)));
    expect(bodies.map(({ msgType }) => msgType)).toEqual(['JOB_ACCEPTED', 'JOB_PENDING', 'JOB_PROCESSING_INPUTS']);
    expect(bodies[1]).toMatchObject({ correlationId: 'j-007', status: 'PENDING', from: 'ACCEPTED', owner: 'jdoe' });
    expect(published[0]).toMatchObject({ exchange: namesOf(ORG.name).eventExchange, key: jobEventKey('j-007') });
    expect(jobEventKey('j-007')).not.toBe(correlationEventKey('j-007'));
  });

  it('keeps no job from going on when it is away', async () => {
    const { published } = open('rabbitmq', true);
    const job = await fixture.job('j-007', 'STAGED');
    expect(job.status).toBe('STAGED');
    expect(published).toEqual([]);
  });

  it('is not used of the embedded broker, whose messages nobody else reads', async () => {
    const { published, declared } = open('embedded');
    await fixture.job('j-007', 'STAGED');
    expect([published, declared]).toEqual([[], []]);
  });
});
