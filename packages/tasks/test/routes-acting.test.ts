import { describe, expect, it } from 'vitest';
import { refused, TaskApi } from './support/task-api.js';
import { numbered } from './support/task-rows.js';
import type { TaskRequest } from './support/task-server.js';

/** Acting on tasks over HTTP. */

const api = new TaskApi();
const { addLines, addOne, queue } = api;

describe('acting on a task', () => {
  it('holds, releases, cancels, retries and deletes it', async () => {
    const { name } = await queue();
    const id = await addOne(name, { params: {} });
    const act = (action: string, body?: object) =>
      api.server.json({ method: 'POST', path: `tasks/${id}/${action}`, ...(body && { body }) });
    expect(await act('hold', { code: -50 })).toMatchObject({ status: 'held', code: -50 });
    expect(await act('release')).toMatchObject({ status: 'queued' });
    expect(await act('cancel')).toMatchObject({ status: 'cancelled' });
    expect(await act('retry')).toMatchObject({ status: 'queued' });
    const { why } = await api.server.json<{ why: string[] }>({ path: `tasks/${id}/why` });
    expect(why.length).toBeGreaterThan(0);
    expect((await api.server.send({ method: 'DELETE', path: `tasks/${id}` })).status).toBe(204);
    expect((await api.server.send({ path: `tasks/${id}` })).status).toBe(404);
  });

  it('says why it cannot be done, and of what there is not, that', async () => {
    const { name } = await queue();
    const id = await addOne(name, {});
    const answer = await api.server.send({ method: 'POST', path: `tasks/${id}/release` });
    expect(await refused(answer)).toEqual([409, 'task_refused', `task ${id} cannot be released: it is not held`]);
    expect((await api.server.send({ method: 'POST', path: `tasks/${numbered(1)}/release` })).status).toBe(404);
    expect((await api.server.send({ method: 'POST', path: 'tasks/nonsense/release' })).status).toBe(404);
  });
});

describe('acting on many tasks', () => {
  const actions = (body: object, rest: Partial<TaskRequest> = {}) =>
    api.server.json({ method: 'POST', path: 'tasks/actions', body, ...rest });

  it('counts first, and then does it', async () => {
    const { name } = await queue();
    await addLines(
      name,
      Array.from({ length: 1200 }, (_, n) => `{"params":{"n":${n}}}`),
    );
    const where = `queue:${name} AND params.n < 1100`;
    const nothing = { refused: [], next: null };
    const counted = await actions({ action: 'cancel', where, dry_run: true });
    expect(counted).toMatchObject({ matched: 1100, acted: 0, ...nothing });
    const done = await actions({ action: 'cancel', where });
    expect(done).toMatchObject({ matched: 1100, acted: 1100, ...nothing });
    expect(done).toMatchObject({ sample: (counted as { sample: unknown }).sample });
    expect(await api.server.json({ path: `queues/${name}` })).toMatchObject({
      counts: { cancelled: 1100, queued: 100 },
    });
  });

  it('leaves what was added after the count, and does no more at once than it is asked to', async () => {
    const { name } = await queue();
    const before = [await addOne(name, {}), await addOne(name, {}), await addOne(name, {})];
    const where = `queue:${name} AND status:queued`;
    const counted = await actions({ action: 'hold', where, dry_run: true });
    expect(counted).toMatchObject({ matched: 3, sample: before, last: before[2] });
    await addOne(name, {});
    const until = before[2];
    const first = await actions({ action: 'hold', where, until, limit: 2 });
    expect(first).toMatchObject({ matched: 2, acted: 2, sample: before.slice(0, 2), last: before[1], next: before[1] });
    const rest = await actions({ action: 'hold', where, until, limit: 2, after: before[1] });
    expect(rest).toMatchObject({ matched: 1, acted: 1, last: until, next: null });
    expect(await api.server.json({ path: `queues/${name}` })).toMatchObject({ counts: { held: 3, queued: 1 } });
  });

  it('tells what stayed as it was, by reason', async () => {
    const { name } = await queue();
    const first = await addOne(name, {});
    const second = await addOne(name, {});
    await api.server.json({ method: 'POST', path: `tasks/${second}/cancel` });
    const refused = [
      { reason: 'it does not exist', tasks: 1, first: numbered(1) },
      { reason: 'it has not ended', tasks: 1, first },
    ];
    const retry = { action: 'retry', ids: [first, second, numbered(1)] };
    const told = { matched: 3, refused, sample: [], last: null, next: null };
    expect(await actions({ ...retry, dry_run: true })).toEqual({ ...told, acted: 0 });
    expect(await actions(retry)).toEqual({ ...told, acted: 1 });
  });

  it.each(['release', 'hold', 'cancel', 'retry', 'remove'])(
    '%s: counts those that would stay as they are',
    async (action) => {
      const { name } = await queue();
      const [held, cancelled] = [await addOne(name, {}), await addOne(name, {})];
      await addOne(name, {});
      await api.server.json({ method: 'POST', path: `tasks/${held}/hold`, body: {} });
      await api.server.json({ method: 'POST', path: `tasks/${cancelled}/cancel` });
      const where = `queue:${name}`;
      const counted = (await actions({ action, where, dry_run: true })) as { refused: unknown };
      expect(counted).toMatchObject({ matched: 3, acted: 0 });
      expect(await actions({ action, where })).toMatchObject({ matched: 3, refused: counted.refused });
    },
  );

  it.each([
    [{ action: 'retry' }, 'give either `where` or `ids`'],
    [{ action: 'retry', where: '', ids: ['x'] }, 'give either `where` or `ids`'],
    [{ action: 'retry', ids: ['x'] }, 'invalid ids.0: "x" is no id of a task: 24 of 0-9 and a-f'],
    [{ action: 'explode', where: '' }, 'invalid action'],
    [{ action: 'retry', where: '', until: 'x' }, 'invalid until'],
    [{ action: 'retry', where: '', limit: 0 }, 'invalid limit'],
  ])('refuses %j', async (body, reason) => {
    const answer = await api.server.send({ method: 'POST', path: 'tasks/actions', body });
    const [status, , error] = await refused(answer);
    expect(status).toBe(400);
    expect(error).toContain(reason);
  });
});
