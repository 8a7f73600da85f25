import { Leases } from '@muster/store';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { LIMITS } from '../../src/worker/limits.js';
import { LostWorkers } from '../../src/worker/lost-workers.js';
import { leaseName } from '../../src/worker/tenure.js';
import { saveWorker, type WorkerState } from '../../src/worker/worker-rows.js';
import { type FrontServer, startFront } from '../support/front-server.js';
import { toldOf } from '../support/told.js';

/** What is told of workers that say nothing any more; the workers are rows and leases here. */

let server: FrontServer;
let watching: LostWorkers;
let told: () => readonly string[];

const quiet = () => undefined;
const QUEUE = 'aloe.jobq.default.submit.DefaultQueue';

function watch(holder: string): LostWorkers {
  const { store, recorder, clock } = server;
  const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
  return new LostWorkers({ store, recorder, clock, log, leases: new Leases({ store, clock, holder }) });
}

beforeEach(async () => {
  server = await startFront();
  const all = toldOf(server.recorder, 'job_worker.', 'name');
  told = () => all.filter((each) => !each.startsWith('job_worker.changed'));
  watching = watch('reader');
  watching.start();
});
afterEach(async () => {
  await watching.stop();
  await server.close();
});

const save = (uuid: string, state: WorkerState = 'running') => {
  const { recorder, clock, org } = server;
  const row = { uuid, org_id: org.id, name: uuid, host: 'h', queue: QUEUE, slots: 4, state, version: '1' };
  return saveWorker(recorder, org.name, { ...row, started: clock.now() });
};
const lives = async (uuid: string): Promise<() => Promise<void>> => {
  const leases = new Leases({ store: server.store, clock: server.clock, holder: uuid });
  const taken = await leases.acquire(leaseName(uuid), LIMITS.leaseMs);
  if (taken.kind === 'held') throw new Error(`${taken.holder} has it`);
  let { lease } = taken;
  return async () => {
    lease = (await leases.renew(lease, LIMITS.leaseMs)) ?? expect.fail('the lease is lost');
  };
};

/** Time passes until that is what was told, while these are renewed. */
const passes = (until: readonly string[], ...renewed: readonly (() => Promise<void>)[]) =>
  expect
    .poll(async () => {
      for (const renew of renewed) await renew();
      server.clock.advance(LIMITS.renewMs);
      return told();
    })
    .toEqual(until);

it('a worker that says nothing any more is told once, and once more when it is heard again', async () => {
  const [one, two] = ['one', 'two'];
  await Promise.all([save(one), save(two)]);
  const [oneLives, twoLives] = [await lives(one), await lives(two)];
  // Of the one that ended in good order nothing is told.
  await save('ended', 'stopped');
  await passes(['job_worker.lost one'], twoLives);
  await passes(['job_worker.lost one', 'job_worker.found one'], oneLives, twoLives);
  await passes(['job_worker.lost one', 'job_worker.found one', 'job_worker.lost two'], oneLives);
});

it('one that gave its lease back, and could not say that it ended, is lost', async () => {
  await save('mute');
  await passes(['job_worker.lost mute']);
});

it('what was told is not told again by who looks next', async () => {
  await Promise.all([save('gone'), save('there')]);
  const thereLives = await lives('there');
  await passes(['job_worker.lost gone'], thereLives);
  await watching.stop();
  watching = watch('another');
  watching.start();
  await passes(['job_worker.lost gone', 'job_worker.lost there']);
});

it('of a worker its states are told', async () => {
  const states = toldOf(server.recorder, 'job_worker.changed', 'name', 'state', 'queue');
  await save('one');
  await save('one', 'suspended');
  await expect
    .poll(() => states)
    .toEqual([`job_worker.changed one running ${QUEUE}`, `job_worker.changed one suspended ${QUEUE}`]);
});
