import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { numbered, taskRow } from '../../tasks/test/support/task-rows.js';
import { startTaskServer, type TaskServer } from '../../tasks/test/support/task-server.js';
import { run } from '../src/run.js';
import { testWorld } from './support/world.js';

/** `muster queue` and `muster task` against a real server without nodes. */

let server: TaskServer;
let env: Record<string, string>;
let cwd: string;
beforeAll(async () => {
  server = await startTaskServer();
  env = { MUSTER_URL: server.url, MUSTER_ORG: 'default', MUSTER_TOKEN: await server.token('admin'), NO_COLOR: '1' };
  cwd = mkdtempSync(join(tmpdir(), 'muster-cli-tasks-'));
});
afterAll(async () => {
  rmSync(cwd, { recursive: true });
  await server.close();
});

interface Ran {
  readonly exit: number;
  readonly out: string;
  readonly err: string;
}

async function muster(line: string, more: { input?: string; terminal?: boolean; answer?: string } = {}): Promise<Ran> {
  const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
  const world = testWorld({ env, cwd, terminal: more.terminal === true, now: () => server.test.clock.now() });
  if (more.input !== undefined) world.pipe(more.input);
  if (more.answer !== undefined) world.type(`${more.answer}\n`);
  const exit = await run(words, world);
  return { exit, out: world.out(), err: world.err() };
}

/** What a command that goes well answers with `--json`. */
async function json<T>(line: string): Promise<T> {
  const { exit, out, err } = await muster(`${line} --json`);
  expect([exit, err]).toEqual([0, '']);
  return JSON.parse(out) as T;
}

let queues = 0;
async function queue(flags = ''): Promise<string> {
  const name = `queue${++queues}`;
  expect(await muster(`queue create ${name} --plugin thumbnail ${flags}`)).toMatchObject({ exit: 0, err: '' });
  return name;
}

const file = (name: string, content: string): string => {
  writeFileSync(join(cwd, name), content);
  return name;
};

interface Task {
  readonly id: string;
  readonly status: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly priority: number;
}
const tasksOf = async (name: string): Promise<readonly Task[]> =>
  json<Task[]>(`task list --queue ${name} --order asc --limit 100000`);
const paramsOf = async (name: string) => (await tasksOf(name)).map(({ params }) => params);

describe('muster queue', () => {
  it('creates a queue with what the flags say, and shows it', async () => {
    const flags = '--threads 8 --sort lifo --rate 100/1m --key user=2 --retries 3 --timeout 30s --output-limit 64KiB';
    const name = await queue(`${flags} --keep forever --nodes 'role:media'`);
    expect(await json(`queue show ${name}`)).toMatchObject({
      ...{ threads: 8, sort: 'lifo', timeout: 30, output_limit: 65_536, keep: 0, nodes: 'role:media' },
      rate: { tasks: 100, seconds: 60 },
      key: { param: 'user', limit: 2 },
      retry: { limit: 3, first: 1 },
    });
    const { out } = await muster(`queue show ${name}`);
    expect(out).toMatch(/^Threads +8$/m);
    expect(out).toMatch(/^Key +params\.user, at most 2 at one time$/m);
  });

  it('sets what is given, and takes limits away', async () => {
    const name = await queue('--threads 8 --timeout 30s');
    expect(await muster(`queue set ${name} --threads none --weight 3`)).toMatchObject({ exit: 0, err: '' });
    expect(await json(`queue show ${name}`)).toMatchObject({ threads: null, timeout: 30, weight: 3 });
    expect(await muster(`queue set ${name}`)).toMatchObject({ exit: 2 });
    const refused = await muster(`queue set ${name} --threads many`);
    expect(refused).toMatchObject({ exit: 2, out: '' });
    expect(refused.err).toContain("--threads takes a whole number from 0 on, not 'many'");
  });

  it('pauses, resumes and drains', async () => {
    const name = await queue();
    expect((await muster(`queue pause ${name}`)).out).toBe(`queue ${name} is paused\n`);
    expect((await muster(`queue resume ${name}`)).out).toBe(`queue ${name} is resumed\n`);
    expect((await muster(`queue drain ${name}`)).exit).toBe(0);
    const refused = await muster(`task add ${name}`);
    expect(refused.exit).toBe(1);
    expect(refused.err).toContain('takes no more tasks');
    expect(refused.err).toContain(`muster queue resume ${name}`);
  });

  it('lists queues with what waits, for how long, and why', async () => {
    const name = await queue('--threads 8');
    await muster(`task add ${name}`);
    server.test.clock.advance(125_000);
    const { out } = await muster('queue list');
    const line = out.split('\n').find((one) => one.startsWith(name));
    expect(line?.replace(/ +/g, ' ')).toMatch(/ open thumbnail 8 1 0 0 0 0 0 0 2m 05s No node/);
    expect((await muster(`queue why ${name}`)).out).toContain('No node');
  });

  it('asks before it deletes a queue, and says how many tasks go with it', async () => {
    const name = await queue();
    await muster(`task add ${name}`);
    expect(await muster(`queue rm ${name}`)).toMatchObject({ exit: 2 });
    const no = await muster(`queue rm ${name}`, { terminal: true, answer: 'n' });
    expect(no.err).toContain(`Delete queue ${name} and its 1 task, with their output?`);
    expect(no.exit).toBe(1);
    expect(await muster(`queue rm ${name} --yes`)).toMatchObject({ exit: 0, out: `deleted queue ${name}\n` });
    expect((await muster(`queue show ${name}`)).exit).toBe(4);
  });
});

describe('muster task add', () => {
  it('prints the id; what is JSON is that, everything else is text', async () => {
    const name = await queue();
    const words = `--param file=a.png --param width=200 --param zip=007 --param 'ids=[1,2]' --param on=true --param x='"5"'`;
    const { out } = await muster(`task add ${name} ${words.replace(`'"5"'`, '"5"')} --priority 5`);
    expect(out).toMatch(/^[0-9a-f]{24}\n$/);
    expect(await json(`task show ${out.trim()}`)).toMatchObject({
      params: { file: 'a.png', width: 200, zip: '007', ids: [1, 2], on: true, x: '5' },
      priority: 5,
    });
    await muster(`task add ${name} --param width=200 --text`);
    expect((await tasksOf(name)).at(-1)?.params).toEqual({ width: '200' });
    expect((await muster(`task add ${name} --param width`)).err).toContain("--param takes NAME=VALUE, not 'width'");
  });

  it('makes a task with a key once', async () => {
    const name = await queue();
    const first = await muster(`task add ${name} --unique today`);
    const second = await muster(`task add ${name} --unique today`);
    expect(second.out).toBe(first.out);
    expect(second.err).toContain('was there already');
  });

  it('waits for a time that is told as such, or from now', async () => {
    const name = await queue();
    const { id } = await json<Task>(`task add ${name} --not-before 10m`);
    const inTenMinutes = new Date(server.test.clock.now() + 600_000).toISOString();
    expect(await json(`task show ${id}`)).toMatchObject({ not_before: inTenMinutes });
    expect((await muster(`task add ${name} --not-before soon`)).err).toContain(
      'neither a duration such as 10m nor a time',
    );
  });

  it('takes lines of JSON from a file and from stdin, with what the flags say of all', async () => {
    const name = await queue();
    const path = file('params.jsonl', '{"n":1}\n\n{"n":2}\r\n{"n":3}');
    const { out } = await muster(`task add ${name} --from ${path} --priority 7`);
    expect(out).toMatch(new RegExp(`^added 3 tasks to ${name} \\(\\d+s\\)\n$`));
    expect((await muster(`task add ${name} --from - --from-line 2`, { input: '{"n":4}\n{"n":5}\n' })).exit).toBe(0);
    const tasks = await tasksOf(name);
    expect(tasks.map(({ params }) => params.n)).toEqual([1, 2, 3, 5]);
    expect(tasks.map(({ priority }) => priority)).toEqual([7, 7, 7, 0]);
  });

  it('takes whole tasks, each with its own key', async () => {
    const name = await queue();
    const path = file(
      'tasks.jsonl',
      '{"params":{"n":1},"unique":{"key":"a"}}\n{"params":{"n":2},"unique":{"key":"a"}}\n',
    );
    expect(await json(`task add ${name} --from ${path} --whole`)).toEqual({ added: 1, existed: 1 });
  });

  it('takes CSV: quotes, commas and line ends in fields, names in the first line', async () => {
    const name = await queue();
    const path = file('people.csv', '\uFEFFname,age,note\r\n"Ann ""A"" Lee",31,"one,\ntwo"\r\nBob,,007\r\n');
    await muster(`task add ${name} --from ${path}`);
    expect(await paramsOf(name)).toEqual([
      { name: 'Ann "A" Lee', age: 31, note: 'one,\ntwo' },
      { name: 'Bob', age: '', note: '007' },
    ]);
  });

  it.each([
    ['short.csv', 'a,b\n1,2\n3\n', 'line 3: it has 1 fields, and there are 2 names', 1],
    ['open.csv', 'a\n1\n"2\n3\n', 'line 3: a quote is not closed', 1],
    ['bad.jsonl', '{"a":1}\n{"a":2}\n{a}\n', 'line 3: it is not JSON', 2],
    ['list.jsonl', '{"a":1}\n[1]\n', 'line 2: it is no object', 1],
  ])('%s: stops at the line that is wrong, and says how to go on', async (path, content, reason, added) => {
    const name = await queue();
    const { exit, err } = await muster(`task add ${name} --from ${file(path, content)}`);
    expect(exit).toBe(1);
    expect(err).toContain(reason);
    expect(err).toContain(`${added} added`);
    expect(err).toMatch(/--from-line \d/);
    expect(await tasksOf(name)).toHaveLength(added);
  });

  it('names the line of the file that the server refuses', async () => {
    const name = await queue();
    const lines = Array.from({ length: 12_000 }, (_, n) =>
      n === 10_500 ? '{"after":["x"]}' : `{"params":{"n":${n}}}`,
    );
    const path = file('refused.jsonl', `\n${lines.join('\n')}`);
    const { exit, err } = await muster(`task add ${name} --from ${path} --whole`);
    expect(exit).toBe(1);
    expect(err).toContain('line 10502: invalid after.0: must be the id of a task (10,500 added)');
    expect(err).toContain('--from-line 10502');
  });

  it('says which file it cannot read', async () => {
    const name = await queue();
    const { exit, err } = await muster(`task add ${name} --from nowhere.jsonl`);
    expect(exit).toBe(2);
    expect(err).toContain('cannot read nowhere.jsonl');
  });

  it('shows how far it is on a terminal, and nowhere else', async () => {
    const name = await queue();
    const path = file('many.jsonl', Array.from({ length: 25_000 }, (_, n) => `{"n":${n}}`).join('\n'));
    expect((await muster(`task add ${name} --from ${path}`)).err).toBe('');
    expect((await muster(`task add ${name} --from ${path}`, { terminal: true })).err).toMatch(/10,000 tasks {2}/);
  });
});

describe('muster task list, show, why', () => {
  it('finds tasks by a selector, newest first', async () => {
    const name = await queue();
    for (const n of [1, 2, 3]) await muster(`task add ${name} --param n=${n}`);
    const { out } = await muster(`task list 'queue:${name} AND params.n > 1'`);
    expect(out.split('\n').map((line) => line.split(/ {2,}/).at(-1))).toEqual(['Parameters', '{"n":3}', '{"n":2}', '']);
    expect(await json<Task[]>(`task list 'queue:${name}' --limit 2`)).toHaveLength(2);
    expect(await muster('task list colour:red')).toMatchObject({ exit: 2 });
  });

  it('shows a task, and why it waits', async () => {
    const name = await queue();
    const { out: id } = await muster(`task add ${name} --param file=a.png`);
    const { out } = await muster(`task show ${id.trim()}`);
    expect(out).toMatch(/^Status +queued$/m);
    expect(out).toMatch(/^Parameters +\{"file":"a.png"\}$/m);
    expect(out).toMatch(/^Why +\S/m);
    expect((await muster(`task why ${id.trim()}`)).out.length).toBeGreaterThan(10);
    expect((await muster(`task show ${numbered(1)}`)).exit).toBe(4);
  });

  it('shows what a task wrote, byte for byte, and that there is nothing', async () => {
    const name = await queue();
    const { id: queue_id } = await json<{ id: string }>(`queue show ${name}`);
    const id = numbered(0xfe);
    const ended = { status: 2, attempt: 1, node: 'web1', ended_at: 1, complete: 1, reason: 'exit 1' };
    await server.test.put(taskRow({ id, org_id: server.org.id, queue_id, ...ended, stdout: 'out\n', stderr: 'err\n' }));
    expect(await muster(`task show ${id} --output`)).toMatchObject({ exit: 0, out: 'out\n', err: '' });
    expect(await muster(`task show ${id} --stderr`)).toMatchObject({ exit: 0, out: 'err\n', err: '' });
    expect(await muster(`task show ${id} --output --stderr`)).toMatchObject({ exit: 0, out: 'out\n', err: 'err\n' });
    expect(await muster(`task show ${id} --follow`)).toEqual({
      exit: 1,
      out: 'out\n',
      err: `err\ntask ${id} failed: exit 1\n`,
    });
    const { out: waiting } = await muster(`task add ${name}`);
    const none = await muster(`task show ${waiting.trim()} --output`);
    expect(none.exit).toBe(4);
    expect(none.err).toContain('there is no output');
  });
});

describe('muster task retry, cancel, hold, release, rm', () => {
  const add = async (name: string): Promise<string> => (await muster(`task add ${name}`)).out.trim();

  it('act on ids, and say what could not be', async () => {
    const name = await queue();
    const [first, second] = [await add(name), await add(name)];
    expect(await muster(`task hold ${first} ${second}`)).toMatchObject({ exit: 0, out: 'held 2 tasks\n' });
    expect(await muster(`task release ${first}`)).toMatchObject({ exit: 0, out: 'released 1 task\n' });
    expect(await muster(`task release ${first} ${second}`)).toMatchObject({
      exit: 1,
      out: `released 1 task\n  not ${first}: it is not held\n`,
    });
    expect(await muster(`task cancel ${first}`)).toMatchObject({ exit: 0, out: 'cancelled 1 task\n' });
    expect(await muster(`task retry ${first}`)).toMatchObject({ exit: 0, out: 'queued again 1 task\n' });
    expect(await muster(`task rm ${first}`)).toMatchObject({ exit: 2 });
    expect(await muster(`task rm ${first} --yes`)).toMatchObject({ exit: 0, out: 'deleted 1 task\n' });
  });

  it('say how many a selector finds, and ask', async () => {
    const name = await queue();
    const path = file('n.jsonl', Array.from({ length: 12_000 }, (_, n) => `{"n":${n}}`).join('\n'));
    await muster(`task add ${name} --from ${path}`);
    const where = `--where 'queue:${name} AND params.n < 11000'`;
    expect((await muster(`task cancel ${where} --dry-run`)).out).toBe('cancel: it would be 11,000 tasks\n');
    expect(await muster(`task cancel ${where}`)).toMatchObject({ exit: 2 });
    const asked = await muster(`task cancel ${where}`, { terminal: true, answer: 'n' });
    expect([asked.exit, asked.err]).toEqual([1, expect.stringContaining('Cancel 11,000 tasks? [y/N]')]);
    expect((await muster(`task cancel ${where}`, { terminal: true, answer: 'y' })).out).toBe(
      'cancelled 11,000 tasks\n',
    );
    expect(await json(`queue show ${name}`)).toMatchObject({ counts: { cancelled: 11_000, queued: 1000 } });
    expect((await muster(`task retry --where 'queue:${name} AND status:failed' --yes`)).out).toBe(
      'no task is like that\n',
    );
  });

  it('have the server do it, and see how far it is', async () => {
    const name = await queue();
    const path = file('n.jsonl', Array.from({ length: 600 }, (_, n) => `{"n":${n}}`).join('\n'));
    await muster(`task add ${name} --from ${path}`);
    const begun = await muster(`task hold --queue ${name} --where '' --yes --detach`);
    expect(begun).toMatchObject({ exit: 0, out: expect.stringContaining('muster task bulk show') });
    const id = begun.out.split(':')[0] ?? '';
    const run = () => json(`task bulk show ${id} --queue ${name}`);
    await expect.poll(run).toMatchObject({ state: 'done', matched: 600, acted: 600 });
    expect((await muster(`task bulk show ${id}`)).out).toMatch(/Changed +600 tasks/);
    expect((await muster(`task bulk list --queue ${name}`)).out).toContain(id);
    expect((await muster(`task bulk stop ${id}`)).out).toMatch(/State +done/);
    expect((await muster(`task retry ${numbered(1)} --detach`)).exit).toBe(2);
  });

  it('want ids or a selector', async () => {
    expect((await muster('task retry')).err).toContain('give ids of tasks, or --where SELECTOR');
    expect((await muster(`task retry ${numbered(1)} --where x`)).exit).toBe(2);
  });
});

describe('muster task wait', () => {
  it('waits until the tasks have ended, and says how', async () => {
    const name = await queue();
    const { out } = await muster(`task add ${name}`);
    const id = out.trim();
    const waited = muster(`task wait ${id}`);
    await muster(`task cancel ${id}`);
    expect(await waited).toMatchObject({ exit: 1, err: expect.stringContaining(`task ${id} cancelled`) });
  });
});

it('`task wait --where` waits for what the selector finds, and says how each ended', async () => {
  const name = await queue();
  for (const file of ['a', 'b']) await muster(`task add ${name} --param file=${file}`);
  await muster(`task cancel --queue ${name} --where queue:${name} --yes`);
  const { exit, out } = await muster(`task wait --where queue:${name} --queue ${name} --json`);
  expect(exit).toBe(1);
  const ended = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { status: string });
  expect(ended.map(({ status }) => status)).toEqual(['cancelled', 'cancelled']);
  expect(await muster(`task wait --where 'queue:${name} AND status:failed'`)).toMatchObject({ exit: 0, out: '' });
  for (const line of ['task wait', 'task wait ID --where queue:a', `task wait ID --queue ${name}`]) {
    expect((await muster(line)).exit).toBe(2);
  }
});
