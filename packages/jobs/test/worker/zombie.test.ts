import { DEAD_QUEUE } from '@muster/broker';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { QUEUE } from '../support/jobs.js';
import { openWorkers, type Process, type WorkerFixture } from '../support/worker-fixture.js';

const ENDED = { state: 'ended', code: 0, condition: null, detail: '' } as const;
const ZOMBIE = 'JOBS_WORKER_ZOMBIE_ERROR how the job ended cannot be stored';

describe('a job of which it cannot be stored how it ended', () => {
  let fixture: WorkerFixture;

  beforeEach(async () => {
    fixture = await openWorkers();
    fixture.scheduler.state = { state: 'running' };
  });

  afterEach(() => fixture.close());

  /** A job with subscriptions, which are read at each change. */
  const request = JSON.stringify({ notifications: [{ event: '*', url: 'http://hook/', persistent: true }] });

  const zombies = ({ logged }: Process) => logged.filter(({ message }) => message === ZOMBIE);

  async function zombie(): Promise<Process> {
    const process = await fixture.process('w1', { slots: 1 });
    await fixture.submit('j1', { request });
    await fixture.status('j1', 'RUNNING');
    process.reach = 'faulty';
    fixture.scheduler.set('j1', ENDED);
    await fixture.until(() => zombies(process).length > 0, 'the zombie');
    process.reach = 'whole';
    return process;
  }

  test('is left as it is, its message is a dead letter, and both errors are logged', async () => {
    const process = await zombie();
    await fixture.until(async () => (await fixture.depth(DEAD_QUEUE)) === 1, 'the dead letter');
    expect(await fixture.depth(QUEUE)).toBe(0);
    expect(await fixture.read('j1')).toMatchObject({ status: 'RUNNING', epoch: 1, ended: null, remoteEnded: null });
    expect(zombies(process)).toMatchObject([
      { details: { job: 'j1', err: { message: 'a fault that is played' }, cause: { name: 'TypeError' } } },
    ]);
  });

  test('leaves its slot to the next one', async () => {
    const process = await zombie();
    await fixture.submit('j2');
    await fixture.status('j2', 'RUNNING');
    expect(process.worker.running).toBe(1);
    fixture.scheduler.set('j2', ENDED);
    await fixture.status('j2', 'FINISHED');
    expect(zombies(process)).toHaveLength(1);
  });

  test('goes on where it was when its message is sent again, and its program is not started again', async () => {
    await zombie();
    await fixture.until(async () => (await fixture.depth(QUEUE)) === 0, 'an empty queue');
    await fixture.publish(await fixture.read('j1'), 'again');
    await fixture.status('j1', 'FINISHED');
    expect(fixture.scheduler.submits).toHaveLength(1);
    expect((await fixture.read('j1')).epoch).toBe(2);
  });
});
