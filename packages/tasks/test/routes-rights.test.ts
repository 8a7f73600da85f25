import { describe, expect, it } from 'vitest';
import { ME } from '../../platform/test/support/personas.js';
import { refused, TaskApi } from './support/task-api.js';
import type { TaskRequest } from './support/task-server.js';

/** Who may do what to queues and tasks. */

const api = new TaskApi();
const { addOne, queue } = api;

describe('who may do what', () => {
  const members = (users: readonly string[], groups: readonly string[] = []) => ({ users, clients: [], groups });
  const statuses = async (as: string, requests: readonly TaskRequest[]): Promise<number[]> => {
    const found: number[] = [];
    for (const request of requests) found.push((await api.server.send({ ...request, as })).status);
    return found;
  };

  it('members look while there are no task_readers; writing is for admins and task_writers', async () => {
    const { name } = await queue();
    const id = await addOne(name, {});
    const reads = [{ path: 'queues' }, { path: `queues/${name}` }, { path: 'tasks' }, { path: `tasks/${id}` }];
    const writes = [
      { method: 'POST', path: `queues/${name}/tasks`, body: {} },
      { method: 'POST', path: `queues/${name}/pause` },
      { method: 'POST', path: `tasks/${id}/cancel` },
      { method: 'POST', path: 'tasks/actions', body: { action: 'retry', where: `queue:${name}` } },
      { method: 'DELETE', path: `queues/${name}` },
    ];
    expect(await statuses('alice', reads)).toEqual([200, 200, 200, 200]);
    expect(await statuses('alice', writes)).toEqual([403, 403, 403, 403, 403]);
    await api.server.auth.groups.put(api.server.org, 'task_writers', members(['alice']), ME);
    await api.server.auth.groups.put(api.server.org, 'task_readers', members(['bob']), ME);
    expect(await statuses('alice', reads)).toEqual([403, 403, 403, 403]);
    expect(await statuses('bob', reads)).toEqual([200, 200, 200, 200]);
    expect(await statuses('alice', writes)).toEqual([201, 200, 200, 200, 204]);
    await api.server.auth.groups.remove(api.server.org, 'task_writers', ME);
  });

  it('a queue admits writers and readers to itself and to its tasks, and to nothing else', async () => {
    await api.server.auth.groups.put(api.server.org, 'task_readers', members([]), ME);
    await api.server.auth.groups.put(api.server.org, 'team', members(['carol']), ME);
    const { name } = await queue({ writers: ['alice'], readers: ['group:team', 'client:bob'] });
    const { name: other } = await queue();
    const id = await addOne(name, {});
    const ofOther = await addOne(other, {});
    const reads = (queueName: string, task: string) => [
      { path: `queues/${queueName}` },
      { path: `queues/${queueName}/tasks` },
      { path: `tasks/${task}` },
      { path: `tasks/${task}/why` },
    ];
    const writes = (queueName: string, task: string) => [
      { method: 'POST', path: `queues/${queueName}/tasks`, body: {} },
      { method: 'POST', path: `queues/${queueName}/tasks/actions`, body: { action: 'hold', ids: [task] } },
      { method: 'PATCH', path: `queues/${queueName}`, body: { threads: 3 } },
      { method: 'POST', path: `tasks/${task}/cancel` },
    ];
    expect(await statuses('alice', [...reads(name, id), ...writes(name, id)])).toEqual([
      200, 200, 200, 200, 201, 200, 200, 200,
    ]);
    expect(await statuses('carol', [...reads(name, id), ...writes(name, id)])).toEqual([
      200, 200, 200, 200, 403, 403, 403, 403,
    ]);
    // A user has nothing from what is said of a client of that name.
    expect(await statuses('bob', reads(name, id))).toEqual([403, 403, 403, 403]);
    expect(await statuses('alice', [...reads(other, ofOther), ...writes(other, ofOther)])).toEqual(Array(8).fill(403));
    expect(await statuses('alice', [{ path: 'tasks' }, { path: 'queues' }])).toEqual([403, 403]);
    await api.server.auth.groups.remove(api.server.org, 'task_readers', ME);
  });

  it('its own writers may not choose whom it admits, nor what it runs', async () => {
    const { name } = await queue({ writers: ['alice'] });
    const patch = (body: object) => ({ method: 'PATCH', path: `queues/${name}`, body });
    expect(
      await statuses('alice', [patch({ writers: ['bob'] }), patch({ plugin: 'x' }), patch({ weight: 2 })]),
    ).toEqual([403, 403, 200]);
    expect(await statuses('admin', [patch({ writers: ['bob'] })])).toEqual([200]);
    const token = await api.server.token('admin');
    const [status, code] = await refused(await api.server.send({ ...patch({ writers: [] }), token }));
    expect([status, code]).toEqual([403, 'signature_required']);
  });

  it('actions on a queue touch no task of another', async () => {
    const { name } = await queue();
    const { name: other } = await queue();
    const id = await addOne(other, {});
    const body = { action: 'cancel', ids: [id] };
    const answer = await api.server.json({ method: 'POST', path: `queues/${name}/tasks/actions`, body });
    expect(answer).toMatchObject({ acted: 0, refused: [{ reason: 'it does not exist' }] });
    const everything = { action: 'cancel', where: '' };
    await api.server.json({ method: 'POST', path: `queues/${name}/tasks/actions`, body: everything });
    expect(await api.server.json({ path: `tasks/${id}` })).toMatchObject({ status: 'queued' });
  });
});
