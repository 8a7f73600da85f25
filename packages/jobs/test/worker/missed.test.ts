import { MusterError } from '@muster/base/errors';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { obstacle } from '../../src/recovery/conditions/index.js';
import { blockedRows } from '../../src/recovery/enter.js';
import { RECOVERY_HINT } from '../../src/recovery/hint.js';
import { ORG } from '../support/jobs.js';
import { openWorkers, type WorkerFixture } from '../support/worker-fixture.js';

let fixture: WorkerFixture;
beforeEach(async () => {
  fixture = await openWorkers();
});
afterEach(() => fixture.close());

test('what a phase asks the database for while that is away is asked again: no job fails for it', async () => {
  const { logged } = await fixture.process('w1');
  vi.spyOn(fixture.apps, 'get').mockImplementationOnce(() => {
    throw new MusterError('store_unavailable', { reason: 'played' });
  });
  await fixture.submit('j1');
  await fixture.status('j1', 'PENDING');
  await fixture.pass(5_000);
  await fixture.status('j1', 'FINISHED');
  expect(logged.map(({ message }) => message)).not.toContain('JOBS_WORKER_PROCESSING_ERROR');
});

test('whoever removes the message of a BLOCKED job reminds its reader: who blocked it may have died', async () => {
  const { jobs, clock, store } = fixture.fixture;
  const hints: (string | null)[] = [];
  const stop = store.hints.listen(RECOVERY_HINT, (org) => void hints.push(org));
  await fixture.process('w1');
  const job = await fixture.fixture.job('j1', 'RUNNING', { systemId: 'hpc1' });
  const at = obstacle('CONNECTION_FAILURE', 'hpc1 is away', { systemId: 'hpc1' });
  await jobs.change(job, { to: 'BLOCKED' }, blockedRows(job, at, clock.now()));
  await fixture.until(() => hints.includes(ORG.id));
  hints.length = 0;
  await fixture.publish(job);
  await fixture.until(async () => (await fixture.depth()) === 0);
  await fixture.until(() => hints.includes(ORG.id));
  stop();
});
