import { EmbeddedBroker, namesOf, organizationTopology, siteTopology } from '@muster/broker';
import { systemRandom } from '@muster/platform/auth';
import { ServerConfigSchema } from '@muster/platform/config';
import { Metrics } from '@muster/platform/metrics';
import { pino } from 'pino';
import { Value } from 'typebox/value';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createJobReaders, type JobReaders } from '../../src/readers/layer.js';
import { obstacle } from '../../src/recovery/conditions/index.js';
import { blockedRows } from '../../src/recovery/enter.js';
import { type JobFixture, ORG, openJobs } from '../support/jobs.js';
import { PlayedSystems } from '../support/recovery.js';
import { toldOf } from '../support/told.js';

let fixture: JobFixture;
let broker: EmbeddedBroker;
let readers: JobReaders;
let metrics: Metrics;

beforeEach(async () => {
  fixture = await openJobs();
  metrics = new Metrics();
  const { store, clock, recorder } = fixture;
  const logger = pino({ level: 'silent' });
  broker = await EmbeddedBroker.open({ store, clock, log: logger, holder: 'here', alone: true });
  await broker.declare(siteTopology());
  await broker.declare(organizationTopology(ORG.name));
  const config = Value.Parse(ServerConfigSchema, Value.Default(ServerConfigSchema, {}));
  const base = {
    store,
    recorder,
    clock,
    logger,
    metrics,
    config,
    random: systemRandom,
    incarnation: 'i1',
    serverName: 'here',
  };
  const deps = { broker, jobs: fixture.jobs, systems: new PlayedSystems() };
  readers = createJobReaders(base, deps);
  await readers.start();
  clock.advance(0);
});
afterEach(async () => {
  await readers.stop();
  await broker.close();
  await fixture.close();
});

it('the readers of a process recover, and keep what nobody took', async () => {
  await expect.poll(() => readers.recovery.acting).toEqual([ORG.id]);
  const told = toldOf(fixture.recorder, 'job_recovery.', 'condition', 'attempts');
  const job = await fixture.job('j-007', 'STAGED');
  const at = obstacle('CONNECTION_FAILURE', 'down', { systemId: 'hpc1' });
  await fixture.jobs.change(job, { to: 'BLOCKED' }, blockedRows(job, at, fixture.clock.now()));
  const next = async () =>
    (await fixture.store.read.selectFrom('job_recovery').select('next_attempt').executeTakeFirst())?.next_attempt;
  await expect.poll(next).toBe(fixture.clock.now() + 60_000);
  fixture.clock.advance(60_000);
  await expect
    .poll(() => told)
    .toEqual(['job_recovery.changed CONNECTION_FAILURE 0', 'job_recovery.removed CONNECTION_FAILURE ']);
  // Its queue is not there any more: what goes on without one is kept, and counted.
  await expect.poll(async () => (await fixture.read('j-007')).status).toBe('STAGED');
  const kept = () => fixture.store.read.selectFrom('job_stray_messages').select(['kind', 'exchange']).execute();
  await expect.poll(kept).toEqual([{ kind: 'alternate', exchange: namesOf(ORG.name).submitExchange }]);
  await expect.poll(() => metrics.registry.metrics()).toContain('muster_job_stray_messages_total{kind="alternate"} 1');
});

it('the reader of an organization that is deleted ends', async () => {
  await expect.poll(() => readers.recovery.acting).toEqual([ORG.id]);
  await readers.organizationRemoved?.(ORG.id);
  expect(readers.recovery.acting).toEqual([]);
});
