import { describe, expect, it } from 'vitest';
import { ME } from '../../platform/test/support/personas.js';
import { TaskApi } from './support/task-api.js';

/** Feeds of queues and tasks. */

const api = new TaskApi();
const { addOne, queue } = api;

describe('feeds', () => {
  /** Events of a feed until there are so many, or it ends. */
  async function events(response: Response, most: number) {
    const told: { event: string; id: string; data: Record<string, unknown> }[] = [];
    let text = '';
    for await (const piece of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      text += Buffer.from(piece).toString();
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const block = text.slice(0, end);
        text = text.slice(end + 2);
        const field = (name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1] ?? '';
        if (!block.startsWith(':'))
          told.push({ event: field('event'), id: field('id'), data: JSON.parse(field('data')) });
      }
      if (told.length >= most) break;
    }
    return told;
  }

  it('of a queue tells what happens from now on, and goes on after an event', async () => {
    const { name, id: queueId } = await queue();
    const feed = await api.server.send({ path: `queues/${name}/feed` });
    const id = await addOne(name, {});
    await api.server.json({ method: 'POST', path: `tasks/${id}/cancel` });
    const told = await events(feed, 2);
    expect(told).toMatchObject([
      { event: 'task.added', data: { queue: queueId, task: id, count: 1, by: 'admin' } },
      { event: 'task.ended', data: { task: id, status: 'cancelled', code: -5, node: null } },
    ]);
    const headers = { 'last-event-id': told[0]?.id ?? '' };
    const again = await events(await api.server.send({ path: `queues/${name}/feed`, headers }), 1);
    expect(again).toEqual([told[1]]);
  });

  it('breaks off when the queue admits its reader no more', async () => {
    const members = { users: [], clients: [], groups: [] };
    await api.server.auth.groups.put(api.server.org, 'task_readers', members, ME);
    const { name } = await queue({ readers: ['alice', 'bob'] });
    const path = `queues/${name}/feed`;
    const alice = await api.server.send({ path, as: 'alice' });
    await api.server.json({ method: 'PATCH', path: `queues/${name}`, body: { readers: ['bob'] } });
    await expect(events(alice, 5)).rejects.toThrow();
    await api.server.auth.groups.remove(api.server.org, 'task_readers', ME);
  });

  it('of a queue ends with it', async () => {
    const { name } = await queue();
    const feed = await api.server.send({ path: `queues/${name}/feed` });
    await api.server.send({ method: 'DELETE', path: `queues/${name}` });
    expect((await events(feed, 5)).map(({ event }) => event)).toEqual(['queue.removed']);
  });

  it('of a task tells how it stands, now and after each change, until it has ended', async () => {
    const { name } = await queue();
    const id = await addOne(name, {});
    const feed = await api.server.send({ path: `tasks/${id}/feed` });
    await addOne(name, {});
    const told = events(feed, 10);
    await api.server.json({ method: 'POST', path: `tasks/${id}/cancel` });
    const all = await told;
    expect(all.at(-1)).toMatchObject({ event: 'task', data: { id, status: 'cancelled' } });
    expect(new Set(all.map(({ event, data }) => `${event} ${data.id}`))).toEqual(new Set([`task ${id}`]));
  });
});
