import type { Store } from '@muster/store';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { MusterError } from '../../src/errors.js';
import { routingAttributes } from '../../src/routing/attributes.js';
import { JobQueues } from '../../src/routing/job-queues.js';
import { type OpenCatalog, ORG, openCatalog } from '../support/catalog.js';
import { toldOf } from '../support/told.js';

const PREFIX = 'aloe.jobq.acme.submit.';
const DEFAULT = `${PREFIX}DefaultQueue`;
const LONG = { name: `${PREFIX}Long`, priority: 3, filter: 'maxHours >= 24' };
const HEAVY = { name: `${PREFIX}Heavy`, priority: 2, filter: "owner = 'heavy'" };

let catalog: OpenCatalog;
beforeEach(async () => {
  catalog = await openCatalog();
});
afterEach(async () => catalog.close());

const request = (more: object = {}) => routingAttributes({ tenant: 'acme', owner: 'jdoe', maxSeconds: 60, ...more }, 0);
const told = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof MusterError ? `${error.status} ${error.message}` : Promise.reject(error)),
  );

describe('job queues', () => {
  test('have a default queue of priority 1 from the beginning', async () => {
    expect(await catalog.queues.list(ORG)).toMatchObject([{ name: DEFAULT, priority: 1, uuid: null }]);
    expect(await catalog.queues.choose(ORG, request())).toBe(DEFAULT);
  });

  test('are asked in the order of their priorities, the higher first, and the first that matches has the job', async () => {
    await catalog.queues.put(ORG, [HEAVY, LONG], []);
    expect((await catalog.queues.list(ORG)).map(({ name }) => name)).toEqual([LONG.name, HEAVY.name, DEFAULT]);
    const { queues } = catalog;
    expect(await queues.choose(ORG, request({ owner: 'heavy', maxSeconds: 90_000 }))).toBe(LONG.name);
    expect(await queues.choose(ORG, request({ owner: 'heavy' }))).toBe(HEAVY.name);
    expect(await queues.choose(ORG, request())).toBe(DEFAULT);
  });

  test('take what no filter matches to the default queue, and say so: JOBS_QUEUE_FILTER_NONE', async () => {
    await catalog.queues.put(ORG, [{ name: DEFAULT, priority: 1, filter: "owner = 'nobody'" }], []);
    expect(await catalog.queues.choose(ORG, request())).toBe(DEFAULT);
    expect(catalog.logged.at(-1)).toContain('JOBS_QUEUE_FILTER_NONE');
  });

  test('go on to the next where a filter fails: JOBS_QUEUE_FILTER_EVAL_ERROR', async () => {
    await catalog.queues.put(ORG, [LONG, HEAVY], []);
    const attributes = { ...request({ owner: 'heavy' }), maxHours: [] as unknown as number };
    expect(await catalog.queues.choose(ORG, attributes)).toBe(HEAVY.name);
    expect(catalog.logged.at(-1)).toContain(
      `JOBS_QUEUE_FILTER_EVAL_ERROR ${LONG.name}: JOBS_QUEUE_FILTER_VALUE_ERROR maxHours`,
    );
  });

  test('go on to the next where what is stored is no filter any more', async () => {
    await catalog.queues.put(ORG, [LONG, HEAVY], []);
    await catalog.store.transact(async (trx) => {
      await trx.updateTable('job_queues').set({ filter: 'maxHours >' }).where('name', '=', LONG.name).execute();
    });
    const { queues } = await catalog.another();
    expect(await queues.choose(ORG, request({ owner: 'heavy' }))).toBe(HEAVY.name);
    const { answers } = await queues.explain(ORG, request());
    expect(answers[0]).toMatchObject({
      matched: false,
      error: expect.stringContaining('JOBS_QUEUE_FILTER_PARSE_ERROR'),
    });
  });

  test('are explained filter by filter, with the values seen', async () => {
    await catalog.queues.put(ORG, [LONG, HEAVY], []);
    expect(await catalog.queues.explain(ORG, request({ owner: 'heavy' }))).toMatchObject({
      queue: HEAVY.name,
      byDefault: false,
      answers: [
        { queue: LONG, matched: false, asked: true, values: { maxHours: 60 / 3600 } },
        { queue: HEAVY, matched: true, asked: true, values: { owner: 'heavy' } },
        { queue: { name: DEFAULT }, matched: true, asked: false, values: { tenantId: 'acme' } },
      ],
    });
  });

  test('are the same in other servers as soon as they are changed', async () => {
    const { queues } = await catalog.another();
    expect(await queues.choose(ORG, request({ maxSeconds: 90_000 }))).toBe(DEFAULT);
    await catalog.queues.put(ORG, [LONG], []);
    await expect.poll(() => queues.choose(ORG, request({ maxSeconds: 90_000 }))).toBe(LONG.name);
    await catalog.queues.remove(ORG, LONG.name, []);
    await expect.poll(() => queues.choose(ORG, request({ maxSeconds: 90_000 }))).toBe(DEFAULT);
  });

  test('are in the broker before a job can be sent to them, and not after they are deleted', async () => {
    await catalog.queues.put(ORG, [LONG], []);
    expect(await catalog.broker.depths([LONG.name])).toMatchObject([{ ready: 0 }]);
    await catalog.queues.remove(ORG, LONG.name, []);
    expect(await catalog.broker.depths([LONG.name])).toEqual([null]);
  });

  test('are told of to who works on them, once they are stored and not if they are refused', async () => {
    const heard: string[] = [];
    catalog.queues.onStored(({ name }, queue) => void heard.push(`${name} ${queue}`));
    await catalog.queues.put(ORG, [LONG, HEAVY], []);
    await told(catalog.queues.put(ORG, [{ ...LONG, name: `${PREFIX}New` }], []));
    expect(heard).toEqual([`acme ${LONG.name}`, `acme ${HEAVY.name}`]);
  });

  test('exchange their priorities, and are none the newer for a second import', async () => {
    const [long] = await catalog.queues.put(ORG, [LONG, HEAVY], [], 'file');
    const exchanged = [
      { ...LONG, priority: 2 },
      { ...HEAVY, priority: 3 },
    ];
    const [again] = await catalog.queues.put(ORG, exchanged, [], 'file');
    expect(again).toMatchObject({ uuid: long?.uuid, priority: 2 });
    expect(long?.uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}-064$/);
  });

  test('refuse the priority of another one, and store nothing then: JOBS_QUEUE_DUP_PRIORITY', async () => {
    await catalog.queues.put(ORG, [LONG], []);
    const also = { name: `${PREFIX}New`, priority: 9, filter: 'archive' };
    expect(await told(catalog.queues.put(ORG, [also, { ...HEAVY, priority: 3 }], []))).toContain(
      `400 JOBS_QUEUE_DUP_PRIORITY priority: 3 of ${HEAVY.name} is also that of ${LONG.name}`,
    );
    expect(await catalog.queues.list(ORG)).toHaveLength(2);
  });

  test('refuse a change of what was changed meanwhile: JOBS_QUEUE_UPDATE_FAILED', async () => {
    const [long] = await catalog.queues.put(ORG, [LONG], []);
    const seen = { ...LONG, ifUpdated: long?.lastUpdated ?? 0 };
    catalog.clock.advance(1000);
    await catalog.queues.put(ORG, [seen], []);
    expect(await told(catalog.queues.put(ORG, [seen], []))).toContain('409 JOBS_QUEUE_UPDATE_FAILED');
  });

  test('of one organization are no concern of another', async () => {
    await catalog.queues.put(ORG, [LONG], []);
    const other = { id: 'b'.repeat(32), name: 'other' };
    expect(await catalog.queues.list(other)).toMatchObject([{ name: 'aloe.jobq.other.submit.DefaultQueue' }]);
  });

  test('cannot lose the default queue, nor one that is not there', async () => {
    expect(await told(catalog.queues.remove(ORG, DEFAULT, []))).toContain('409 JOBS_QUEUE_INVALID_DEFAULT_QUEUE_DEF');
    expect(await told(catalog.queues.remove(ORG, LONG.name, []))).toContain('404 JOBS_QUEUE_NOT_FOUND');
  });

  test('tell their administrators of each that is made, changed or deleted', async () => {
    const events = toldOf(catalog.recorder, 'job_queue.', 'queue', 'priority');
    await catalog.queues.put(ORG, [LONG, HEAVY], []);
    await catalog.queues.put(ORG, [{ ...LONG, priority: 7 }], []);
    await catalog.queues.remove(ORG, LONG.name, []);
    const changed = [`${LONG.name} 3`, `${HEAVY.name} 2`, `${LONG.name} 7`].map((each) => `job_queue.changed ${each}`);
    await expect.poll(() => events).toEqual([...changed, `job_queue.removed ${LONG.name} `]);
  });

  test('tell by their own codes what the database refuses', async () => {
    await catalog.queues.put(ORG, [LONG], []);
    const { clock, broker, store } = catalog;
    const logged: string[] = [];
    const log = (_about: object, text: string) => void logged.push(text);
    const random = (size: number) => new Uint8Array(size);
    const { read, hints } = store;
    const away = (): never => {
      throw new MusterError('store_unavailable', { reason: 'away' });
    };
    const recorder = { transact: async () => away() };
    const over = (broken: Store) =>
      new JobQueues({ store: broken, recorder, clock, random, broker, logger: { warn: log, info: log } });
    const writes = over({ ...store, read, hints, transact: async () => away() });
    expect(await told(writes.put(ORG, [HEAVY], []))).toContain('503 JOBS_QUEUE_FAILED_ADD');
    expect(await told(writes.put(ORG, [HEAVY], [], 'file'))).toContain('503 JOBS_QUEUE_FAILED_CREATE');
    expect(await told(writes.put(ORG, [LONG], []))).toContain('503 JOBS_QUEUE_FAILED_UPDATE');
    expect(await told(writes.remove(ORG, LONG.name, []))).toContain('503 JOBS_QUEUE_FAILED_DELETE');
    const nothing = over({ ...store, hints, read: new Proxy(read, { get: away }) });
    expect(await told(nothing.list(ORG))).toContain('503 JOBS_QUEUE_FAILED_QUERY');
    expect(await nothing.choose(ORG, request({ maxSeconds: 90_000 }))).toBe(DEFAULT);
    expect(logged.at(-1)).toContain('JOBS_QUEUE_FAILED_QUERY the default queue takes what comes');
  });
});
