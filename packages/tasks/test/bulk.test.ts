import { describe, expect, it, vi } from 'vitest';
import { ME } from '../../platform/test/support/personas.js';
import { BulkRunner } from '../src/bulk/runner.js';
import type { TaskController } from '../src/ports.js';
import { refused, TaskApi } from './support/task-api.js';
import { numbered } from './support/task-rows.js';
import type { TaskRequest } from './support/task-server.js';

/** Actions on many tasks that the server carries out. */

interface Run {
  readonly id: string;
  readonly state: string;
  readonly reason: string | null;
  readonly matched: number;
  readonly acted: number;
}

const api = new TaskApi();
const { addLines, addOne, queue } = api;
const lines = (count: number) => Array.from({ length: count }, (_, n) => `{"params":{"n":${n}}}`);

const start = (body: object, rest: Partial<TaskRequest> = {}) =>
  api.server.json<Run>({ method: 'POST', path: 'tasks/bulk', body, ...rest });
const show = (id: string) => api.server.json<Run>({ path: `tasks/bulk/${id}` });
/** Longer than vitest waits by itself: a busy machine takes seconds for a page. */
const eventually = <T>(met: () => T | Promise<T>): Promise<T> => vi.waitFor(met, { timeout: 60_000 });
const over = (id: string): Promise<Run> =>
  eventually(async () => {
    const run = await show(id);
    expect(run.state).not.toBe('running');
    return run;
  });
const counts = async (name: string) => (await api.server.json<{ counts: object }>({ path: `queues/${name}` })).counts;

/** A runner of its own, whose controller does what `act` makes of it. */
function runner(
  act: (real: TaskController['act'], ...given: Parameters<TaskController['act']>) => ReturnType<TaskController['act']>,
) {
  const { base, auth, tasks } = api.server;
  const { store, recorder, clock, random, logger } = base;
  const controller = {
    act: (...given: Parameters<TaskController['act']>) => act(tasks.controller.act, ...given),
    queue: (orgId: string, name: string) => tasks.controller.queue(orgId, name),
    queues: (orgId: string) => tasks.controller.queues(orgId),
  };
  return new BulkRunner({ store, recorder, clock, random, logger, auth, controller });
}

async function identity(name: string) {
  const found = (await api.server.auth.repository.candidates(api.server.org.id, name))[0];
  if (found === undefined) throw new Error(`no ${name}`);
  return { ...found, publicKey: null };
}

/** What is wanted of a new queue, and the queue's name. */
async function asked() {
  const { id, name } = await queue();
  const wish = {
    org: api.server.org,
    queueId: id,
    action: 'hold' as const,
    code: null,
    counted: null,
    about: { selector: '', ids: null, until: null },
  };
  return { name, wish };
}

describe('an action on many tasks that the server carries out', () => {
  it('acts on all that were counted, leaves those that came after, and tells what stayed as it was', async () => {
    const { name } = await queue();
    await addLines(name, lines(1300));
    const done = await addOne(name, {});
    await api.server.json({ method: 'POST', path: `tasks/${done}/cancel` });
    const where = `queue:${name}`;
    const counted = await api.server.json<{ matched: number; last: string }>({
      ...{ method: 'POST', path: 'tasks/actions' },
      body: { action: 'cancel', where, dry_run: true },
    });
    await addOne(name, {});
    const { matched, last: until } = counted;
    const { id, state } = await start({ action: 'cancel', where, until, counted: matched });
    expect(state).toBe('running');
    expect(await over(id)).toMatchObject({
      ...{ id, state: 'done', reason: null, by: 'admin', where, counted: 1301, matched: 1301, acted: 1300 },
      refused: [{ tasks: 1, first: done, reason: 'it has ended already' }],
      ended_at: expect.any(String),
    });
    expect(await counts(name)).toMatchObject({ cancelled: 1301, queued: 1 });
    const audited = await api.server.auth.audit.page({ orgId: api.server.org.id, limit: 5 });
    const detail = { action: 'cancel', where };
    expect(audited.find(({ action }) => action === 'bulk.start')).toMatchObject({ target: id, detail });
    expect(await api.server.json({ path: 'tasks/bulk' })).toEqual([await show(id)]);
  });

  it('acts on those that are named, each once', async () => {
    const { name } = await queue();
    const ids = [await addOne(name, {}), await addOne(name, {})];
    const { id } = await start({ action: 'hold', code: -20, ids: [...ids, ...ids, numbered(1)] });
    const missing = [{ reason: 'it does not exist', tasks: 1, first: numbered(1) }];
    expect(await over(id)).toMatchObject({ state: 'done', matched: 3, acted: 2, refused: missing });
    expect(await api.server.json({ path: `tasks/${ids[0]}` })).toMatchObject({ status: 'held', code: -20 });
    const removed = await start({ action: 'remove', ids });
    expect(await over(removed.id)).toMatchObject({ state: 'done', acted: 2 });
    expect((await api.server.send({ path: `tasks/${ids[0]}` })).status).toBe(404);
  });

  it('of a queue is for its own writers, and shown to its own readers', async () => {
    const { name } = await queue({ writers: ['alice'], readers: ['bob'] });
    const other = await queue();
    await addOne(name, {});
    const path = `queues/${name}/tasks/bulk`;
    const body = { action: 'hold', where: '' };
    const begun = await api.server.json<Run>({ method: 'POST', path, body, as: 'alice' });
    expect((await over(begun.id)).acted).toBe(1);
    const status = async (request: TaskRequest) => (await api.server.send(request)).status;
    expect(await status({ path: `${path}/${begun.id}`, as: 'bob' })).toBe(200);
    expect(await status({ path: `queues/${other.name}/tasks/bulk/${begun.id}` })).toBe(404);
    expect(await status({ method: 'POST', path, body, as: 'bob' })).toBe(403);
    expect(await status({ method: 'POST', path: `${path}/${begun.id}/stop`, as: 'bob' })).toBe(403);
    expect(await status({ method: 'POST', path: 'tasks/bulk', body, as: 'alice' })).toBe(403);
    // It is over already.
    const stopped = await api.server.json({ method: 'POST', path: `${path}/${begun.id}/stop`, as: 'alice' });
    expect(stopped).toMatchObject({ state: 'done' });
  });

  it('is refused where it cannot be meant so', async () => {
    const ask = (body: object) => api.server.send({ method: 'POST', path: 'tasks/bulk', body });
    expect(await refused(await ask({ action: 'hold' }))).toMatchObject([400, 'invalid_field', /where/]);
    expect((await ask({ action: 'hold', where: 'status:' })).status).toBe(400);
    expect(await refused(await ask({ action: 'retry', code: -9, where: '' }))).toMatchObject([
      400,
      'invalid_field',
      /code/,
    ]);
    expect((await api.server.send({ path: 'tasks/bulk/nonsense' })).status).toBe(404);
  });
});

describe('whatever happens meanwhile', () => {
  const by = () => ({ identity: { principalId: '', type: 'user' as const, name: 'bob' } });

  it('stops between two pages when somebody wants it, and says who', async () => {
    const { name, wish } = await asked();
    await addLines(name, lines(1200));
    const alone = runner(async (real, ...given) => {
      const acted = await real(...given);
      if (!stopping) stopping = alone.end(id, by());
      return acted;
    });
    let stopping: Promise<boolean> | undefined;
    await alone.load();
    const { run } = await alone.add(wish, await identity('admin'), by);
    const { id } = run;
    await eventually(async () =>
      expect(await show(id)).toMatchObject({ state: 'stopped', acted: 500, reason: 'stopped by bob' }),
    );
    expect(await stopping).toBe(true);
    expect(await alone.end(id, by())).toBe(false);
    expect(await counts(name)).toMatchObject({ held: 500, queued: 700 });
  });

  it('ends when whoever wanted it may not any more', async () => {
    const { groups } = api.server.auth;
    await groups.put(api.server.org, 'task_writers', { users: ['carol'], clients: [], groups: [] }, ME);
    const { name, wish } = await asked();
    await addLines(name, lines(1200));
    const alone = runner(async (real, ...given) => {
      const acted = await real(...given);
      await groups.remove(api.server.org, 'task_writers', ME);
      return acted;
    });
    await alone.load();
    const { run } = await alone.add(wish, await identity('carol'), by);
    const reason = 'carol, who wanted it, may not do it any more';
    await eventually(async () => expect(await show(run.id)).toMatchObject({ state: 'failed', acted: 500, reason }));
  });

  it('acts on no task twice, though it does not hear that a page was stored', async () => {
    const { name, wish } = await asked();
    await addLines(name, lines(1200));
    const given: string[] = [];
    const alone = runner(async (real, org, ids, ...rest) => {
      given.push(...ids);
      const acted = await real(org, ids, ...rest);
      if (given.length === 500) throw new Error('the connection is gone');
      return acted;
    });
    await alone.load();
    const { run } = await alone.add(wish, await identity('admin'), by);
    await eventually(async () => {
      api.server.test.clock.advance(1000);
      expect(await show(run.id)).toMatchObject({ state: 'done', matched: 1200, acted: 1200, refused: [] });
    });
    expect(given.length).toBe(1200);
    expect(new Set(given).size).toBe(1200);
  });

  it('goes on where it was after a restart, and acts on no task twice', async () => {
    const { name, wish } = await asked();
    await addLines(name, lines(1200));
    const given: string[] = [];
    let stopped: Promise<void> | undefined;
    const first = runner((real, org, ids, ...rest) => {
      given.push(...ids);
      stopped ??= first.stop();
      return real(org, ids, ...rest);
    });
    await first.load();
    const { run } = await first.add(wish, await identity('admin'), by);
    await eventually(() => expect(stopped).toBeDefined());
    await stopped;
    expect(await show(run.id)).toMatchObject({ state: 'running', matched: 500, acted: 500 });
    const second = runner((real, org, ids, ...rest) => {
      given.push(...ids);
      return real(org, ids, ...rest);
    });
    await second.load();
    second.start();
    await eventually(async () =>
      expect(await show(run.id)).toMatchObject({ state: 'done', matched: 1200, acted: 1200 }),
    );
    expect(new Set(given).size).toBe(given.length);
  });

  it('stops with the server, though what was being done is not stored yet, and keeps nobody waiting who wants it to stop', async () => {
    const { name, wish } = await asked();
    await addOne(name, {});
    const alone = runner(() => new Promise(() => {}));
    await alone.load();
    const { run } = await alone.add(wish, await identity('admin'), by);
    const stopping = alone.stop();
    await eventually(() => {
      api.server.test.clock.advance(1000);
      return Promise.race([stopping, new Promise((_, reject) => setImmediate(() => reject(new Error('not yet'))))]);
    });
    expect(await show(run.id)).toMatchObject({ state: 'running', matched: 0 });
    // As after a restart it is not begun before it is started.
    const next = runner((real, ...given) => real(...given));
    await next.load();
    expect(await next.end(run.id, by())).toBe(false);
    next.start();
    await eventually(async () => expect(await show(run.id)).toMatchObject({ state: 'done', acted: 1 }));
  });

  it('there are not too many at one time', async () => {
    const { name, wish } = await asked();
    await addOne(name, {});
    let go: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      go = resolve;
    });
    const alone = runner(async (real, ...given) => {
      await held;
      return real(...given);
    });
    await alone.load();
    const admin = await identity('admin');
    for (let n = 0; n < 8; n++) await alone.add(wish, admin, by);
    await expect(alone.add(wish, admin, by)).rejects.toMatchObject({ code: 'too_many_bulk_runs' });
    go();
    await alone.stop();
  });
});
