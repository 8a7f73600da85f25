import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Fixture, startNodes, type TestAgent } from '../../../nodes/test/support/nodes-fixture.js';
import { ownerAspect } from '../../src/ownership/aspect.js';
import { OwnedNode } from '../../src/ownership/owned-node.js';
import type { Owner } from '../../src/ownership/types.js';

let fixture: Fixture;
let agent: TestAgent;
let owned: OwnedNode;

beforeEach(async () => {
  fixture = await startNodes();
  agent = await fixture.agent('web1');
  agent.configure();
  agent.beat();
  owned = new OwnedNode(agent.view);
});
afterEach(() => fixture.close());

const aspect = ownerAspect(() => owned);
const SINCE = '2012-09-16T00:00:00Z';
const down: Owner = { kind: 'down' };
const idle: Owner = { kind: 'idle' };
const inJob: Owner = { kind: 'job', jobId: 'j1' };
const inRehab = (): Owner => ({ kind: 'rehab', since: fixture.clock.now(), reason: 'it came up' });

describe('what a node shows of its owner', () => {
  test.each([
    [idle, { availability: 'available', owner: 'idle', reason: 'ready for a job' }],
    [inJob, { availability: 'unavailable', owner: 'job', reason: 'busy with job j1', job_id: 'j1' }],
  ])('%j', (owner, shown) => {
    owned.owner = owner;
    expect(aspect.describe(agent.view)).toEqual({ ...shown, owner_since: '2012-09-16T00:00:00.000Z' });
    expect(aspect.attributes(agent.view)).toEqual({ availability: shown.availability });
  });

  test('of a node that is down, why it is down', () => {
    agent.send({ type: 'stopping' });
    expect(aspect.describe(agent.view)).toMatchObject({ owner: 'down', reason: 'its agent was stopped' });
  });
});

describe('why a node is available or not', () => {
  const why = () => aspect.explain(agent.view, fixture.clock.now());

  test('available', () => {
    owned.owner = idle;
    expect(why()).toEqual({ available: true, sentences: ['web1 is up and ready for a job.'] });
  });

  test('busy with a job', () => {
    owned.owner = inJob;
    expect(why()).toEqual({ available: false, sentences: ['web1 is up, but busy with job j1.'] });
  });

  test('in rehab, since when and why', () => {
    owned.owner = inRehab();
    expect(why().sentences).toEqual([
      `web1 is up, but in rehab since ${SINCE} (0 s): it came up. It is sent abort until it acknowledges.`,
    ]);
  });

  test('in rehab, and still killing a command', () => {
    agent.send({ type: 'heartbeat', state: 'terminating', jobId: null, last: null });
    owned.owner = inRehab();
    expect(why().sentences).toContain('It says that it is still killing a command.');
  });

  test('in rehab, and nothing can reach it', async () => {
    await fixture.stored();
    fixture = await fixture.restart();
    agent = await fixture.agent('web1');
    owned = new OwnedNode(agent.view);
    owned.owner = inRehab();
    expect(why().sentences[1]).toMatch(/^It has no connection to the command port now/);
  });
});

test('the event that tells of a node says who has it then, or which job has lost it', () => {
  expect(aspect.changed(agent.view)).toEqual({ owner: 'rehab' });
  agent.send({ type: 'stopping' });
  owned.owner = inJob;
  expect(aspect.changed(agent.view)).toEqual({ job: 'j1' });
});

test('only a node that a job owns must not be deleted', () => {
  for (const owner of [down, idle, inRehab()]) {
    owned.owner = owner;
    expect(() => aspect.assertRemovable(agent.view)).not.toThrow();
  }
  owned.owner = inJob;
  expect(() => aspect.assertRemovable(agent.view)).toThrow("node 'web1' is busy with job j1");
});
