import { describe, expect, it } from 'vitest';
import { refused, TaskApi } from './support/task-api.js';
import { numbered } from './support/task-rows.js';

/** Adding tasks over HTTP. */

const api = new TaskApi();
const { add, addLines, list, queue } = api;

describe('adding tasks', () => {
  it('answers the id of one, and whether it was there already', async () => {
    const { name } = await queue();
    const task = { params: { file: 'a.png' }, priority: 5, unique: { key: 'a.png' } };
    const first = await add(name, task);
    expect(first.status).toBe(201);
    const { id } = (await first.json()) as { id: string };
    expect(await (await add(name, task)).json()).toEqual({ id, created: false });
    expect(await api.server.json({ path: `tasks/${id}` })).toMatchObject({
      id,
      queue: name,
      params: { file: 'a.png' },
      status: 'queued',
      priority: 5,
      requester: 'admin',
    });
  });

  it('takes a list as a whole, or not at all', async () => {
    const { name } = await queue();
    const answers = await (await add(name, [{ params: { n: 1 } }, { params: { n: 2 } }])).json();
    expect(answers).toMatchObject([{ created: true }, { created: true }]);
    const [status, , error] = await refused(await add(name, [{ params: { n: 3 } }, { params: [] }]));
    expect([status, error]).toEqual([400, 'invalid params: tasks.1: they are not an object']);
    expect((await list(`queue:${name}`)).tasks).toHaveLength(2);
  });

  it.each([
    ['"text"', 'invalid task: must be an object'],
    ['{"params": "x"}', 'they are not an object'],
    ['{"params": [1]}', 'they are not an object'],
    [JSON.stringify({ params: { x: 'y'.repeat(1000) } }), 'more than 1000'],
    [`{"params": {"x": ${'['.repeat(200)}${']'.repeat(200)}}}`, 'nested deeper'],
    ['{"param": {}}', 'invalid param: there is no such field'],
    ['{"priority": 1.5}', 'invalid priority'],
    ['{"not_before": "soon"}', 'invalid not_before: must be a time'],
    ['{"after": ["x"]}', 'invalid after.0: must be the id of a task'],
    [`{"after": ["${numbered(1)}"]}`, 'there is no task'],
    ['{"unique": {"key": ""}}', 'invalid unique.key'],
    ['{"params": {"__proto__": 1}}', 'the key __proto__ is not allowed'],
  ])('refuses %s', async (body, reason) => {
    const { name } = await queue();
    const [status, , error] = await refused(await add(name, body));
    expect(status).toBe(400);
    expect(error).toContain(reason);
  });

  it('is refused by a queue that is drained, and by one that there is not', async () => {
    const { name } = await queue({ state: 'draining' });
    expect((await refused(await add(name, {}))).slice(0, 2)).toEqual([409, 'queue_draining']);
    expect((await add('nowhere', {})).status).toBe(404);
  });
});

describe('adding lines of tasks', () => {
  const lines = (count: number): string[] =>
    Array.from({ length: count }, (_, n) => JSON.stringify({ params: { n }, unique: { key: `k${n}` } }));

  it('tells how many were added, and how many were there; blank lines are none', async () => {
    const { name } = await queue();
    const first = await addLines(name, ['', ...lines(3), '  ', '']);
    expect([first.status, await first.json()]).toEqual([200, { added: 3, existed: 0 }]);
    expect(await (await addLines(name, lines(5))).json()).toEqual({ added: 2, existed: 3 });
  });

  it('with a token takes more than a body may have', async () => {
    const { name } = await queue();
    const many = Array.from({ length: 30_000 }, (_, n) => `{"params":{"n":${n},"text":"${'x'.repeat(40)}"}}`);
    const token = await api.server.token('admin');
    expect(many.join('\n').length).toBeGreaterThan(1_000_000);
    expect(await (await addLines(name, many, { token })).json()).toEqual({ added: 30_000, existed: 0 });
    expect(await api.server.json({ path: `queues/${name}` })).toMatchObject({ counts: { queued: 30_000 } });
    expect((await addLines(name, many)).status).toBe(413);
  });

  it.each(['with a signature', 'with a token'])('%s stops at a bad line: what is before it stays', async (how) => {
    const token = how === 'with a token' ? { token: await api.server.token('admin') } : {};
    const { name } = await queue();
    const answer = await addLines(name, [...lines(4), '{"params": 7}', ...lines(9)], token);
    expect(answer.status).toBe(400);
    expect(answer.headers.get('x-muster-error')).toBe('invalid_params');
    expect(await answer.json()).toEqual({
      error: 'line 5: invalid params: they are not an object',
      added: 4,
      existed: 0,
      line: 5,
    });
    expect((await list(`queue:${name}`)).tasks).toHaveLength(4);
  });

  it('names the line that the layer refuses, and adds those before it', async () => {
    const { name } = await queue();
    const answer = await addLines(name, ['', ...lines(2), `{"after":["${numbered(1)}"]}`, ...lines(4)]);
    expect(await answer.json()).toMatchObject({ added: 2, line: 4 });
  });

  it('refuses a line without an end before it is read whole', async () => {
    const { name } = await queue();
    const token = await api.server.token('admin');
    const answer = await addLines(name, ['{}', `{"params":{"x":"${'y'.repeat(100_000)}"}}`], { token });
    expect(await answer.json()).toMatchObject({ added: 1, line: 2 });
  });

  it('is for who may write only, also before the body is read', async () => {
    const { name } = await queue();
    expect((await addLines(name, lines(2), { token: await api.server.token('bob') })).status).toBe(403);
  });
});
