import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type PlayedNode, PlayedNodes } from './support/played-nodes.js';
import { refused } from './support/task-api.js';
import { startTaskServer, type TaskServer } from './support/task-server.js';

/** Which nodes run the tasks of a queue, as it is said over HTTP. */

describe('nodes that a queue leaves out', () => {
  let server: TaskServer;
  let nodes: PlayedNode[];

  beforeEach(async () => {
    const played = new PlayedNodes();
    server = await startTaskServer({}, played);
    nodes = ['n1', 'n2'].map((name) => {
      const node = played.enter(name);
      node.view.org = server.org;
      node.offer(9, ['p']);
      return node;
    });
  });

  afterEach(() => server.close());

  const queue = (body: object) =>
    server.json({ method: 'POST', path: 'queues', body: { name: 'q', plugin: 'p', ...body } });
  const change = (body: object) => server.json({ method: 'PATCH', path: 'queues/q', body });
  const given = () => nodes.map((node) => node.given.length);

  async function add(tasks: number): Promise<void> {
    const body = '{}\n'.repeat(tasks);
    const headers = { 'content-type': 'application/x-ndjson' };
    expect((await server.send({ method: 'POST', path: 'queues/q/tasks', body, headers })).ok).toBe(true);
  }

  it('get none of its tasks, until it leaves them out no more', async () => {
    expect(await queue({ ignore_nodes: 'name:n1' })).toMatchObject({ ignore_nodes: 'name:n1', nodes: null });
    await add(12);
    await expect.poll(given).toEqual([0, 9]);
    const { why } = await server.json<{ why: string[] }>({ path: 'queues/q/why' });
    expect(why).toEqual(['1 of 1 nodes that may run it are full.']);
    expect(await change({ ignore_nodes: null })).toMatchObject({ ignore_nodes: null });
    await expect.poll(given).toEqual([3, 9]);
  });

  it('are those that are left out of the ones that it names', async () => {
    await queue({ nodes: 'name:n1 OR name:n2' });
    await change({ ignore_nodes: 'name:n2' });
    expect(await server.json({ path: 'queues/q' })).toMatchObject({
      nodes: 'name:n1 OR name:n2',
      ignore_nodes: 'name:n2',
    });
    await add(3);
    await expect.poll(given).toEqual([3, 0]);
  });

  it('are named by a selector', async () => {
    const body = { name: 'q', plugin: 'p', ignore_nodes: 'role:' };
    const [status, , error] = await refused(await server.send({ method: 'POST', path: 'queues', body }));
    expect([status, error]).toEqual([400, expect.stringContaining('invalid search at character')]);
  });
});
