import { expect, it } from 'vitest';
import type { Answer, Query } from '../src/api/client.js';
import type { JobNode } from '../src/api/types.js';
import { readNodes } from '../src/live/all-nodes.js';
import { namesWith } from '../src/push/names-with.js';
import { readJobNodes } from '../src/push/read.js';

it('all nodes are read, page by page, with the position of the first', async () => {
  const names = Array.from({ length: 40_000 }, (_, n) => `n${String(n).padStart(5, '0')}`);
  const asked: unknown[] = [];
  const get = async <T>(_path: string, { limit, after }: Query = {}): Promise<Answer<T>> => {
    asked.push(after);
    const from = after === undefined ? 0 : names.indexOf(String(after)) + 1;
    const nodes = names.slice(from, from + Number(limit)).map((name) => ({ node_name: name }));
    return { body: { nodes } as T, position: asked.length * 10, next: null };
  };
  const { body, position } = await readNodes({ get });
  expect(body.map(({ node_name: name }) => name)).toEqual(names);
  expect(position).toBe(10);
  expect(asked).toEqual([undefined, 'n19999', 'n39999']);
});

it('all nodes of a job are read, page by page', async () => {
  const pages = [['a', 'b'], ['c'], []].map((names) => names.map((name) => ({ node_name: name })));
  const answer = <T>(at: number): Answer<T> => {
    return { body: pages[at] as T, position: 1, next: at + 1 < pages.length ? String(at + 1) : null };
  };
  const asked: unknown[] = [];
  const api = {
    get: async <T>(path: string, query?: Query): Promise<Answer<T>> => {
      asked.push([path, query]);
      return answer<T>(0);
    },
    page: async <T>(path: string): Promise<Answer<T>> => answer<T>(Number(path)),
  };
  const found = await readJobNodes(api, '3f', { group: 'g' });
  expect(found.map(({ node_name: name }) => name)).toEqual(['a', 'b', 'c']);
  expect(asked).toEqual([['/pushy/jobs/3f/nodes', { group: 'g', limit: 10_000 }]]);
});

it('names are found by a part, those first that begin with it', () => {
  const nodes = ['db-web', 'Web2', 'web1', 'x'].map((name) => ({ node_name: name }) as JobNode);
  expect(namesWith(nodes, 'web', 9)).toEqual(['Web2', 'web1', 'db-web']);
  expect(namesWith(nodes, 'web', 2)).toEqual(['Web2', 'web1']);
  expect(namesWith(nodes, 'none', 9)).toEqual([]);
});
