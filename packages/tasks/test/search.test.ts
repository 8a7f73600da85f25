import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SearchedQueue } from '../src/search/attributes.js';
import { readTaskQuery } from '../src/search/query.js';
import { countTasks, searchTasks } from '../src/search/search.js';
import { numbered, ORG, OTHER_ORG, openTaskStore, type TaskStore, taskRow } from './support/task-rows.js';

const RESIZE = numbered(0xa0);
const MAIL = numbered(0xb0);
const GONE = numbered(0xc0);
const QUEUES: SearchedQueue[] = [
  { id: RESIZE, name: 'resize', plugin: 'thumbnail' },
  { id: MAIL, name: 'mail', plugin: 'sendmail' },
];

let test: TaskStore;

beforeAll(async () => {
  test = await openTaskStore();
  await test.put(
    taskRow({ id: numbered(1), params: '{"file":"a.png","width":50}' }),
    taskRow({ id: numbered(2), params: '{"file":"b.png","width":200}', status: 2, node: 'web1', reason: 'exit 1' }),
    taskRow({ id: numbered(3), params: '{"width":"300","user":{"name":"ann"}}', status: 17, ended_at: 5000 }),
    taskRow({ id: numbered(4), queue_id: MAIL, rank: -5, lane: 'ann', status: 1 }),
    taskRow({ id: numbered(5), queue_id: MAIL, params: '{"user.name":"bob"}', status: -7 }),
    taskRow({ id: numbered(6), queue_id: MAIL, status: -100, requester: 'alice' }),
    taskRow({ id: numbered(7), queue_id: GONE, status: 2 }),
    taskRow({ id: numbered(8), org_id: OTHER_ORG, queue_id: numbered(0xd0), status: 2 }),
  );
});
afterAll(() => test.close());

const deps = () => ({ read: test.store.read, queueOf: (id: string) => QUEUES.find((queue) => queue.id === id) });

async function found(q: string, page: { order?: 'asc' | 'desc'; within?: string } = {}): Promise<number[]> {
  const { order = 'asc', within } = page;
  const { rows, next } = await searchTasks(
    deps(),
    ORG,
    readTaskQuery(q, () => QUEUES, within),
    {
      after: null,
      order,
      limit: 100,
    },
  );
  expect(next).toBeNull();
  return rows.map(({ id }) => Number.parseInt(id, 16));
}

describe('what a search of tasks finds', () => {
  it.each([
    ['', [1, 2, 3, 4, 5, 6, 7]],
    ['queue:resize', [1, 2, 3]],
    [`queue:${RESIZE}`, [1, 2, 3]],
    [`queue = '${MAIL}'`, [4, 5, 6]],
    [`queue:${GONE}`, [7]],
    ['queue:*', [1, 2, 3, 4, 5, 6]],
    ['queue IS NULL', [7]],
    ['NOT queue:resize', [4, 5, 6, 7]],
    ['plugin:sendmail', [4, 5, 6]],
    ['status:failed', [2, 3, 7]],
    ['status:held', [5, 6]],
    ["status IN ('queued', 'succeeded')", [1, 4]],
    ['NOT status:failed', [1, 4, 5, 6]],
    ['code = 17', [3]],
    ['code > 2', [3]],
    ['queue:resize AND status:failed', [2, 3]],
    ['queue:resize AND status:failed AND code <> 17', [2]],
    ['queue:resize AND queue:mail', []],
    ['status:failed AND status:held', []],
    ['queue:resize OR queue:mail', [1, 2, 3, 4, 5, 6]],
    ['params.width > 100', [2]],
    ['params.width:300', [3]],
    ['params.file:*.png', [1, 2]],
    ['params.user.name:ann', [3]],
    ['params.user.name:bob', [5]],
    ['queue:resize AND status:failed AND params.width > 100', [2]],
    ['params.__proto__ IS NOT NULL', []],
    ['priority > 0', [4]],
    ['priority = 0', [1, 2, 3, 5, 6, 7]],
    ['key:ann', [4]],
    ['node:web1', [2]],
    ['requester:alice', [6]],
    ['ended > 4000', [3]],
    ["reason LIKE 'exit%'", [2]],
    [`id:${numbered(4)}`, [4]],
    [`id IN ('${numbered(4)}', '${numbered(1)}', 'nonsense')`, [1, 4]],
    [`id:${numbered(8)}`, []],
  ])('%s', async (q, ids) => {
    expect(await found(q)).toEqual(ids);
    expect(await found(q, { order: 'desc' })).toEqual([...ids].reverse());
    const { count } = await countTasks(
      deps(),
      ORG,
      readTaskQuery(q, () => QUEUES),
      { after: null, order: 'asc' },
    );
    expect(count).toBe(ids.length);
  });

  it('is limited to one queue when it is asked for its tasks', async () => {
    expect(await found('status:failed', { within: RESIZE })).toEqual([2, 3]);
    expect(await found('queue:mail', { within: RESIZE })).toEqual([]);
    expect(await found('', { within: MAIL })).toEqual([4, 5, 6]);
  });
});

describe('pages of a search', () => {
  it('go on after the last task of the one before', async () => {
    const pages: number[][] = [];
    for (let after: string | null = null; ; ) {
      const page = await searchTasks(
        deps(),
        ORG,
        readTaskQuery('', () => QUEUES),
        { after, order: 'desc', limit: 3 },
      );
      pages.push(page.rows.map(({ id }) => Number.parseInt(id, 16)));
      if (page.next === null) break;
      after = page.next;
    }
    expect(pages).toEqual([[7, 6, 5], [4, 3, 2], [1]]);
  });

  it('say that a full page is the last one', async () => {
    const page = { after: null, order: 'asc', limit: 2 } as const;
    const { rows, next } = await searchTasks(
      deps(),
      ORG,
      readTaskQuery('status:held', () => QUEUES),
      page,
    );
    expect(rows).toHaveLength(2);
    expect(next).toBeNull();
  });

  it('end where enough rows were looked at, also when nothing was found in them', async () => {
    const query = readTaskQuery('params.file:b.png', () => QUEUES);
    const page = { order: 'asc', limit: 10, examine: 1 } as const;
    const first = await searchTasks(deps(), ORG, query, { ...page, after: null });
    expect(first).toEqual({ rows: [], next: numbered(1) });
    const second = await searchTasks(deps(), ORG, query, { ...page, after: first.next });
    expect(second.rows.map(({ id }) => id)).toEqual([numbered(2)]);
  });
});

describe('a search that is a mistake', () => {
  it.each([
    ['colour:red', "tasks have no 'colour'"],
    ['resize', 'a word alone means nothing here'],
    ['status:done', "'done' is no status"],
    ['status:2', "its number is 'code'"],
    ["status <> 'runing'", "'runing' is no status"],
    ['queue:resise', "queue 'resise' does not exist"],
    ['queue:', 'invalid search at character'],
  ])('%s: %s', (q, reason) => {
    expect(() => readTaskQuery(q, () => QUEUES)).toThrow(reason);
  });
});
