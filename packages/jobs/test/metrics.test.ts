import { Metrics } from '@muster/platform/metrics';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { countJobs } from '../src/metrics.js';
import { type JobFixture, openJobs } from './support/jobs.js';

let fixture: JobFixture;
beforeEach(async () => {
  fixture = await openJobs();
});
afterEach(() => fixture.close());

it('counts what jobs come to, who works on them, and whether the broker is there', async () => {
  const metrics = new Metrics();
  let connected = true;
  const broker = { status: () => ({ connected, why: null }) };
  const workers = { workers: [{ running: 2 }, { running: 3 }] };
  const { recorder } = fixture;
  const stop = countJobs(metrics, { recorder, broker, workers } as unknown as Parameters<typeof countJobs>[1]);
  await fixture.job('j-1-007', 'STAGED');
  await fixture.job('j-2-007', 'PENDING');
  const lines = (await metrics.registry.metrics()).split('\n');
  expect(lines).toContain('muster_job_status_total{status="ACCEPTED"} 2');
  expect(lines).toContain('muster_job_status_total{status="STAGED"} 1');
  expect(lines).toContain('muster_job_status_total{status="FINISHED"} 0');
  expect(lines).toContain('muster_job_slots_busy 5');
  expect(lines).toContain('muster_job_broker_up 1');
  connected = false;
  stop();
  await fixture.job('j-3-007', 'PENDING');
  const after = (await metrics.registry.metrics()).split('\n');
  expect(after).toContain('muster_job_status_total{status="ACCEPTED"} 2');
  expect(after).toContain('muster_job_broker_up 0');
});
