import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runningAt, takeoverSuite } from '../suites/takeover.js';
import { openWorkers, type WorkerFixture } from '../support/worker-fixture.js';

takeoverSuite(openWorkers);

/** With RabbitMQ it keeps its messages, and nobody else gets them, as long as the broker sees it. */
describe('a worker that the database alone has lost sight of', () => {
  let fixture: WorkerFixture;

  beforeEach(async () => {
    fixture = await openWorkers();
  });

  afterEach(() => fixture.close());

  test('cannot write when it comes back: what its successor did stands', async () => {
    const first = await runningAt(fixture);
    first.reach = 'away';
    await fixture.process('w2');
    await fixture.pass(20_000);
    await fixture.until(async () => (await fixture.read('j1')).epoch === 2, 'take-over');
    const taken = await fixture.read('j1');
    first.reach = 'whole';
    fixture.scheduler.set('j1', { state: 'ended', code: 0, condition: null, detail: '' });
    await fixture.pass(5_000);
    const job = await fixture.status('j1', 'FINISHED');
    expect(job).toMatchObject({ epoch: 2, worker: taken.worker });
    const statuses = (await fixture.history('j1')).map((line) => line.split(':')[0]);
    expect(statuses.filter((status) => status === 'CLEANING_UP')).toHaveLength(1);
    expect(first.logged.map(({ message }) => message)).toContain(
      'the lease of the worker is lost: its jobs are taken over by others',
    );
  });

  test('is replaced as soon by one whose clock is behind, by which its lease goes on', async () => {
    const first = await runningAt(fixture);
    first.reach = 'away';
    await fixture.process('w2', { skewMs: -140_000 });
    await fixture.pass(20_000);
    await fixture.until(async () => (await fixture.read('j1')).epoch === 2, 'take-over');
  });

  test('cannot submit when its lease has ended while it was about to', async () => {
    let submitting: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (submitting = resolve));
    const paces = { restarts: { limit: 50, windowMs: 300_000 }, starts: { limit: 9, windowMs: 1 } };
    const first = await fixture.process('w1', {
      paces: { ...paces, launches: { limit: 0, windowMs: 1 }, delayMs: [15_000, 15_000] },
    });
    await fixture.submit('j1');
    // It waits for its turn to launch.
    await fixture.status('j1', 'SUBMITTING');
    first.reach = 'away';
    fixture.scheduler.state = { state: 'running' };
    fixture.scheduler.onSubmit = () => submitting();
    await fixture.process('w2');
    await fixture.pass(30_000);
    await held;
    await fixture.status('j1', 'RUNNING');
    expect(fixture.scheduler.submits).toHaveLength(1);
    expect((await fixture.read('j1')).epoch).toBe(2);
  });
});
