import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ME } from '../../platform/test/support/personas.js';
import { TaskApi } from './support/task-api.js';

/** What the audit tells of actions on tasks: who, what, on what, how many. */

const api = new TaskApi();
const { addLines, addOne, queue } = api;
let latest: number;

beforeAll(async () => {
  const { auth, org } = api.server;
  await auth.groups.put(org, 'task_writers', { users: ['alice'], clients: [], groups: [] }, ME);
});

async function page(after?: number) {
  const { auth, org } = api.server;
  return auth.audit.page({ orgId: org.id, limit: 100, ...(after !== undefined && { after }) });
}

beforeEach(async () => {
  latest = (await page())[0]?.id ?? 0;
});

/** What it tells of tasks since the test began, shortly. */
const audited = async () =>
  (await page(latest))
    .filter(({ action }) => action.startsWith('task.') && action !== 'task.add')
    .map(({ actor, action, target, outcome, detail }) => ({
      by: `${actor.kind} ${actor.name}`,
      ...{ action, target, outcome, detail },
    }));

const alice = { by: 'user alice', outcome: 'done' };

describe('an action on one task', () => {
  it.each([
    ['hold', 'POST', '/hold'],
    ['cancel', 'POST', '/cancel'],
    ['remove', 'DELETE', ''],
  ])('%s: is told', async (action, method, path) => {
    const id = await addOne((await queue()).name, {});
    const body = action === 'hold' ? {} : undefined;
    const answer = await api.server.send({ method, path: `tasks/${id}${path}`, as: 'alice', body });
    expect(answer.ok).toBe(true);
    expect(await audited()).toEqual([{ ...alice, action: `task.${action}`, target: id, detail: {} }]);
  });

  it('is told each time', async () => {
    const id = await addOne((await queue()).name, {});
    for (const action of ['hold', 'release', 'cancel', 'retry']) {
      const body = action === 'hold' ? {} : undefined;
      await api.server.json({ method: 'POST', path: `tasks/${id}/${action}`, as: 'alice', body });
    }
    expect(await audited()).toEqual(
      ['hold', 'release', 'cancel', 'retry'].map((action) => ({
        ...alice,
        action: `task.${action}`,
        target: id,
        detail: {},
      })),
    );
  });

  it('that was refused is not told as done', async () => {
    const id = await addOne((await queue()).name, {});
    expect((await api.server.send({ method: 'POST', path: `tasks/${id}/release`, as: 'alice' })).status).toBe(409);
    expect(await audited()).toEqual([]);
  });

  it('is told as denied of who may not', async () => {
    const id = await addOne((await queue()).name, {});
    expect((await api.server.send({ method: 'POST', path: `tasks/${id}/cancel`, as: 'bob' })).status).toBe(403);
    expect(await audited()).toEqual([]);
    await expect
      .poll(() => page(latest))
      .toContainEqual(expect.objectContaining({ outcome: 'denied', actor: expect.objectContaining({ name: 'bob' }) }));
  });
});

describe('an action on many tasks', () => {
  const actions = (body: object, path = 'tasks/actions') =>
    api.server.json({ method: 'POST', path, body, as: 'alice' });

  it('by their ids: is told with how many, and the first of them', async () => {
    const { name } = await queue();
    const ids = [await addOne(name, {}), await addOne(name, {}), await addOne(name, {})];
    await actions({ action: 'cancel', ids });
    expect(await audited()).toEqual([{ ...alice, action: 'task.cancel', target: ids[0], detail: { tasks: 3 } }]);
  });

  it('by a selector: is told with it, for each part that is stored', async () => {
    const { name } = await queue();
    await addLines(
      name,
      Array.from({ length: 1100 }, () => '{}'),
    );
    const where = `queue:${name} AND status:queued`;
    await actions({ action: 'hold', where });
    const told = await audited();
    expect(told.map(({ detail }) => detail)).toEqual([500, 500, 100].map((tasks) => ({ tasks, where })));
    expect(told[0]).toMatchObject({ ...alice, action: 'task.hold' });
    expect(new Set(told.map(({ target }) => target)).size).toBe(3);
  });

  it('of one queue: is told as well', async () => {
    const { name } = await queue();
    const id = await addOne(name, {});
    await actions({ action: 'remove', where: '' }, `queues/${name}/tasks/actions`);
    expect(await audited()).toEqual([{ ...alice, action: 'task.remove', target: id, detail: { tasks: 1, where: '' } }]);
  });

  it('that only counts is not told, nor one that meets nothing', async () => {
    const { name } = await queue();
    await addOne(name, {});
    await actions({ action: 'cancel', where: `queue:${name}`, dry_run: true });
    await actions({ action: 'cancel', where: `queue:${name} AND status:failed` });
    expect(await audited()).toEqual([]);
  });
});
