import { ManualClock } from '@muster/base';
import type { AgentMessage, TaskNews, TaskOrder, TaskRef, TaskResult } from '@muster/wire';
import { describe, expect, it } from 'vitest';
import { parseAgentConfig } from '../../src/config.js';
import {
  INVENTORY_ANSWER_MS,
  NEWS_PAUSE_MS,
  NEWS_RESEND_MS,
  OUTPUT_BACKLOG_BYTES,
  WORKER_ANSWER_MS,
} from '../../src/limits.js';
import { offerOf } from '../../src/tasks/plugins.js';
import type { HeldAttempt } from '../../src/tasks/protocol.js';
import { TaskSlot } from '../../src/tasks/task-slot.js';
import { silent } from '../support/agent.js';
import { FakeHosts } from '../support/fake-hosts.js';
import { task } from '../support/task-node.js';

const PLUGINS = {
  p: { program: '/bin/true', args: [] },
  few: { program: '/bin/true', args: [], concurrency: 1 },
  m: { module: '/m.mjs' },
};
const RESULT: TaskResult = {
  status: 1,
  retry: false,
  reason: null,
  exitCode: 0,
  signal: null,
  stdout: null,
  stderr: null,
  bytes: null,
  durationMs: 1,
};

const offer = (tasks: Record<string, unknown>) => offerOf(parseAgentConfig({ tasks }), 4);
const ref = (id: string, attempt = 1): TaskRef => ({ id, attempt });
const finished = (id: string, attempt = 1): TaskNews => ({ id, attempt, event: 'finished', result: RESULT });

class Bench {
  readonly clock = new ManualClock();
  readonly link = { bodyLimit: 65_536, readable: () => undefined };
  readonly slot: TaskSlot;
  readonly asked: { readonly ref: TaskRef; readonly names: readonly string[]; readonly signal: AbortSignal }[] = [];
  answer: () => Promise<ReadonlyMap<string, string>> = async () => new Map();
  hosts!: FakeHosts;

  constructor(tasks: Record<string, unknown> = { max: 2, plugins: PLUGINS }) {
    this.slot = new TaskSlot({
      secrets: async (ref, names, signal) => {
        this.asked.push({ ref, names, signal });
        return this.answer();
      },
      clock: this.clock,
      logger: silent,
      link: this.link,
      hosts: (events) => {
        this.hosts = new FakeHosts(events);
        return this.hosts;
      },
      offer: offer(tasks),
      graceMs: () => 5_000,
    });
  }

  /** One that has told what it offers. */
  static async ready(tasks?: Record<string, unknown>): Promise<Bench> {
    const bench = new Bench(tasks);
    await bench.slot.begin();
    bench.taken();
    return bench;
  }

  /** Slots are filled once for all that happened in one turn. */
  async order(order: Partial<Omit<Extract<TaskOrder, { type: 'task_orders' }>, 'type'>>): Promise<void> {
    this.slot.receive({ type: 'task_orders', assign: [], settled: [], cancel: [], recall: [], ...order });
    await Promise.resolve();
  }

  async assign(...ids: string[]): Promise<void> {
    await this.order({ assign: ids.map((id) => task(id, 'p')) });
  }

  async ends(id: string, attempt = 1): Promise<void> {
    this.hosts.events.news(finished(id, attempt));
    await Promise.resolve();
  }

  taken(): AgentMessage[] {
    const messages: AgentMessage[] = [];
    for (let next = this.slot.take(); next !== null; next = this.slot.take()) messages.push(next);
    return messages;
  }

  news(): TaskNews[] {
    return this.taken().flatMap((message) => (message.type === 'task_news' ? message.news : []));
  }
}

describe('the slots of a node', () => {
  it('so many tasks run at a time, the others as slots become free, in their order', async () => {
    const bench = await Bench.ready();
    await bench.assign('a', 'b', 'c', 'd');
    expect(bench.hosts.running).toEqual(['a', 'b']);
    await bench.ends('b');
    expect(bench.hosts.running).toEqual(['a', 'b', 'c']);
  });
  it('a plugin has a limit of its own, which holds up no other plugin', async () => {
    const bench = await Bench.ready({ max: 3, plugins: PLUGINS });
    await bench.order({ assign: [task('a', 'few'), task('b', 'few'), task('c', 'p')] });
    expect(bench.hosts.running).toEqual(['a', 'c']);
    await bench.ends('a');
    expect(bench.hosts.running).toEqual(['a', 'c', 'b']);
  });
  it('a task whose output is on its way takes none', async () => {
    const bench = await Bench.ready({ max: 1, plugins: PLUGINS });
    await bench.assign('a', 'b');
    bench.hosts.events.ending(ref('a'), { event: 'finished', result: RESULT });
    await Promise.resolve();
    expect(bench.hosts.running).toEqual(['a', 'b']);
    expect(bench.news()).toEqual([]);
    await bench.ends('a');
    expect(bench.news()).toEqual([finished('a')]);
  });
  it('what is assigned once more changes nothing, also when it was settled', async () => {
    const bench = await Bench.ready();
    await bench.assign('a');
    await bench.assign('a');
    await bench.ends('a');
    await bench.order({ settled: [ref('a')] });
    await bench.assign('a');
    expect(bench.hosts.running).toEqual(['a']);
    expect(bench.hosts.asked).toContain('settle 1/a');
  });
  it('a later attempt waits until the earlier one, which is ended, is gone', async () => {
    const bench = await Bench.ready();
    await bench.assign('a');
    await bench.order({ assign: [task('a', 'p', {}, { attempt: 2 })] });
    expect(bench.hosts.asked).toContain('kill 1/a');
    expect(bench.hosts.orders).toHaveLength(1);
    await bench.ends('a');
    expect(bench.hosts.orders.map(({ task: { attempt } }) => attempt)).toEqual([1, 2]);
  });
  it('a task of a plugin that the node does not have is returned', async () => {
    const bench = await Bench.ready();
    await bench.order({ assign: [task('a', 'other')] });
    const reason = "this node has no plugin 'other'";
    expect(bench.news()).toEqual([{ ...ref('a'), event: 'returned', reason }]);
  });
  it('a recall returns what waits, and is not answered by what runs', async () => {
    const bench = await Bench.ready({ max: 1, plugins: PLUGINS });
    await bench.assign('a', 'b');
    await bench.order({ recall: [ref('a'), ref('b')] });
    expect(bench.news()).toEqual([{ ...ref('b'), event: 'returned', reason: 'the server asked for it' }]);
    await bench.ends('a');
    expect(bench.hosts.running).toEqual(['a']);
  });
  it('the lesser of both time limits counts', async () => {
    const bench = await Bench.ready({ max: 9, plugins: { p: { ...PLUGINS.p, timeout: '1m' } } });
    await bench.order({
      assign: [task('a', 'p'), task('b', 'p', {}, { timeoutSeconds: 5 }), task('c', 'p', {}, { timeoutSeconds: 500 })],
    });
    expect(bench.hosts.orders.map(({ timeoutMs }) => timeoutMs)).toEqual([60_000, 5_000, 60_000]);
  });
  it('fewer slots end nothing, and start nothing', async () => {
    const bench = await Bench.ready();
    await bench.assign('a', 'b', 'c');
    bench.slot.reload(offer({ max: 1, plugins: PLUGINS }));
    expect(bench.taken()).toMatchObject([{ type: 'task_slots', max: 1 }]);
    await bench.ends('a');
    expect(bench.hosts.running).toEqual(['a', 'b']);
  });
  it('a plugin that is taken away keeps what runs, and gives back what waits', async () => {
    const bench = await Bench.ready({ max: 1, plugins: PLUGINS });
    await bench.assign('a', 'b');
    bench.slot.reload(offer({ max: 1, plugins: {} }));
    await Promise.resolve();
    expect(bench.news()).toMatchObject([{ ...ref('b'), event: 'returned' }]);
    expect(bench.hosts.asked).not.toContain('kill 1/a');
  });
});

describe('what the server is told', () => {
  it('nothing before it is known what an earlier agent left; orders wait for that', async () => {
    const bench = new Bench();
    let found: () => void = () => undefined;
    bench.hosts.finding = new Promise((resolve) => {
      found = resolve;
    });
    const left = { plugin: 'p', timeoutMs: null, graceMs: 1, ending: null, end: null } satisfies Partial<HeldAttempt>;
    bench.hosts.found = [{ ...left, ...ref('a') }];
    const begun = bench.slot.begin();
    await bench.assign('a', 'b');
    expect(bench.taken()).toEqual([]);
    expect(bench.hosts.running).toEqual([]);
    found();
    await begun;
    await Promise.resolve();
    expect(bench.hosts.running).toEqual(['b']);
    expect(bench.taken()).toMatchObject([
      { type: 'task_slots', max: 2 },
      { type: 'task_inventory', held: [{ ...ref('a'), state: 'running' }, ref('b')] },
      { type: 'task_news', news: [{ ...ref('a'), event: 'started' }] },
    ]);
  });
  it('all news of one turn go together, and as many as fit into one message', async () => {
    const bench = await Bench.ready({ max: 40, plugins: PLUGINS });
    const ids = Array.from({ length: 40 }, (_, n) => `t${n}`);
    await bench.assign(...ids);
    const stdout = 'x'.repeat(5_000);
    for (const id of ids) bench.hosts.events.news({ ...ref(id), event: 'finished', result: { ...RESULT, stdout } });
    const sizes = bench.taken().map((message) => (message.type === 'task_news' ? message.news.length : 0));
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(40);
    expect(sizes.length).toBeLessThan(6);
    expect(Math.max(...sizes) * stdout.length).toBeLessThan(bench.link.bodyLimit);
  });
  it('news rest a moment for more of them while more tasks wait for a slot, and leave at once when fewer do', async () => {
    const bench = await Bench.ready();
    await bench.assign('a', 'b', 'c', 'd', 'e', 'f');
    await bench.ends('a');
    expect(bench.news()).toEqual([finished('a')]);
    await bench.ends('b');
    expect(bench.news()).toEqual([]);
    bench.clock.advance(NEWS_PAUSE_MS);
    expect(bench.news()).toEqual([finished('b')]);
    await bench.ends('c');
    expect(bench.news()).toEqual([finished('c')]);
  });
  it('an end is told again after a while, and with every new connection, until it is settled', async () => {
    const bench = await Bench.ready();
    await bench.assign('a');
    await bench.ends('a');
    expect(bench.news()).toEqual([finished('a')]);
    bench.slot.tick();
    expect(bench.news()).toEqual([]);
    bench.clock.advance(NEWS_RESEND_MS + 1);
    bench.slot.tick();
    expect(bench.news()).toEqual([finished('a')]);
    bench.slot.connected();
    expect(bench.news()).toEqual([finished('a')]);
    await bench.order({ settled: [ref('a')] });
    bench.slot.connected();
    expect(bench.news()).toEqual([]);
  });
  it('a new connection has output sent again that is not known to be stored', async () => {
    const bench = await Bench.ready();
    await bench.assign('a');
    bench.hosts.events.output({ ...ref('a'), stream: 'stdout', offset: 0, data: Buffer.from('x') });
    bench.slot.connected();
    expect(bench.hosts.asked.at(-1)).toBe('rewind');
    expect(bench.taken().map(({ type }) => type)).not.toContain('task_output');
  });
  it('more output than may wait is left to the hosts, and sent again in its order once there is room', async () => {
    const bench = await Bench.ready();
    await bench.assign('a');
    const data = Buffer.alloc(1024 * 1024);
    const pieces = OUTPUT_BACKLOG_BYTES / data.length + 3;
    for (let n = 0; n < pieces; n += 1) {
      bench.hosts.events.output({ ...ref('a'), stream: 'stdout', offset: n * data.length, data });
    }
    const before = bench.hosts.asked.length;
    expect(bench.taken()).toHaveLength(pieces - 3);
    expect(bench.hosts.asked.slice(before)).toEqual(['rewind']);
    bench.hosts.events.output({ ...ref('a'), stream: 'stdout', offset: 0, data });
    expect(bench.taken()).toMatchObject([{ type: 'task_output', offset: 0 }]);
  });
  it('each heartbeat comes with what is held, while anything is', async () => {
    const bench = await Bench.ready();
    bench.slot.tick();
    expect(bench.taken()).toEqual([]);
    await bench.assign('a', 'b', 'c');
    await bench.ends('b');
    bench.slot.tick();
    expect(bench.taken().find(({ type }) => type === 'task_inventory')).toEqual({
      type: 'task_inventory',
      held: [
        { ...ref('a'), state: 'running' },
        { ...ref('b'), state: 'ended' },
        { ...ref('c'), state: 'running' },
      ],
    });
  });
  it('a census is answered, also by a node that has no plugin, which says nothing otherwise', async () => {
    const bench = new Bench({ plugins: {} });
    await bench.slot.begin();
    expect(bench.taken()).toEqual([]);
    bench.slot.receive({ type: 'task_census' });
    expect(bench.taken().map(({ type }) => type)).toEqual(['task_slots', 'task_inventory']);
  });
  it('whoever cancels what is not there is told what is', async () => {
    const bench = await Bench.ready();
    await bench.order({ cancel: [ref('a')] });
    expect(bench.taken()).toEqual([{ type: 'task_inventory', held: [] }]);
  });
});

describe('an agent whose server is away', () => {
  /** Of two tasks with one slot, the second waits when the server is lost, and the first ends then. */
  async function away(): Promise<Bench> {
    const bench = await Bench.ready({ max: 1, plugins: PLUGINS });
    await bench.assign('a', 'b');
    bench.slot.serverLost();
    await bench.ends('a');
    return bench;
  }

  it('begins nothing that waits, and what runs goes on', async () => {
    const bench = await away();
    bench.clock.advance(1_000_000);
    await bench.assign('c');
    expect(bench.hosts.running).toEqual(['a']);
    expect(bench.hosts.asked).not.toContain('kill 1/a');
  });
  it('and comes back: what it has is told before anything begins, and begins once the server has given orders', async () => {
    const bench = await away();
    bench.slot.serverBack();
    await bench.order({});
    expect(bench.hosts.running).toEqual(['a']);
    expect(bench.taken()).toContainEqual({
      type: 'task_inventory',
      held: [
        { ...ref('a'), state: 'ended' },
        { ...ref('b'), state: 'waiting' },
      ],
    });
    expect(bench.hosts.running).toEqual(['a']);
    await bench.order({ settled: [ref('a')] });
    expect(bench.hosts.running).toEqual(['a', 'b']);
  });
  it('what the server gave up meanwhile never begins', async () => {
    const bench = await away();
    bench.slot.serverBack();
    bench.taken();
    await bench.order({ cancel: [ref('b')] });
    expect(bench.hosts.running).toEqual(['a']);
    expect(bench.news()).toMatchObject([{ ...ref('b'), event: 'cancelled' }]);
  });
  it('and objects to nothing: what waits begins after a while', async () => {
    const bench = await away();
    bench.slot.serverBack();
    bench.taken();
    bench.clock.advance(INVENTORY_ANSWER_MS - 1);
    await Promise.resolve();
    expect(bench.hosts.running).toEqual(['a']);
    bench.clock.advance(1);
    await Promise.resolve();
    expect(bench.hosts.running).toEqual(['a', 'b']);
  });
  it.each(['a census', 'a new connection'])('%s has all told again before anything begins', async (what) => {
    const bench = await away();
    bench.slot.serverBack();
    bench.taken();
    if (what === 'a census') bench.slot.receive({ type: 'task_census' });
    else bench.slot.connected();
    bench.clock.advance(INVENTORY_ANSWER_MS);
    await bench.order({});
    expect(bench.hosts.running).toEqual(['a']);
    bench.taken();
    await bench.order({});
    expect(bench.hosts.running).toEqual(['a', 'b']);
  });
  it('and is lost again before it has answered: nothing begins', async () => {
    const bench = await away();
    bench.slot.serverBack();
    bench.taken();
    bench.slot.serverLost();
    bench.clock.advance(INVENTORY_ANSWER_MS);
    await bench.order({});
    expect(bench.hosts.running).toEqual(['a']);
  });
});

describe('a host that is gone', () => {
  it('of a program nobody can tell how it ended; a module has failed', async () => {
    const bench = await Bench.ready();
    await bench.order({ assign: [task('a', 'p'), task('b', 'm')] });
    bench.hosts.events.gone(ref('a'), 'it ended');
    bench.hosts.events.gone(ref('b'), 'it ended');
    expect(bench.news()).toMatchObject([
      { ...ref('a'), event: 'lost', reason: 'it ended' },
      { ...ref('b'), event: 'finished', result: { status: 2, reason: 'it ended', retry: false } },
    ]);
  });
  it('what was to be cancelled is', async () => {
    const bench = await Bench.ready();
    await bench.assign('a');
    await bench.order({ cancel: [ref('a')] });
    bench.hosts.events.gone(ref('a'), 'it ended');
    expect(bench.news()).toMatchObject([{ ...ref('a'), event: 'cancelled', forced: true }]);
  });
  it('a worker process that does not end its task in time is ended', async () => {
    const bench = await Bench.ready();
    await bench.order({ assign: [task('a', 'm')] });
    await bench.order({ cancel: [ref('a')] });
    bench.clock.advance(5_000 + WORKER_ANSWER_MS - 1);
    expect(bench.hosts.asked).not.toContain('destroy 1/a');
    bench.clock.advance(1);
    expect(bench.hosts.asked).toContain('destroy 1/a');
  });
  it('one that cannot be started gives its task back', async () => {
    const bench = await Bench.ready();
    await bench.assign('a');
    bench.hosts.events.refused(ref('a'), 'no such user');
    expect(bench.news()).toEqual([{ ...ref('a'), event: 'returned', reason: 'no such user' }]);
  });
});

describe('an agent that is stopped', () => {
  it('gives back what waits, and leaves what runs to its hosts', async () => {
    const bench = await Bench.ready({ max: 1, plugins: PLUGINS });
    await bench.assign('a', 'b');
    bench.slot.stop();
    expect(bench.slot.takeNews()).toMatchObject({ news: [{ ...ref('b'), event: 'returned' }] });
    expect(bench.hosts.asked.at(-1)).toBe('close');
    expect(bench.hosts.asked).not.toContain('kill 1/a');
    await bench.assign('c');
    expect(bench.hosts.running).toEqual(['a']);
  });
});

describe('a task with secrets', () => {
  const order = (id: string) => ({ assign: [task(id, 'p', {}, { secrets: ['password'] })] });
  const turn = () => new Promise(setImmediate);

  it('is run once they are there, with their values', async () => {
    const bench = await Bench.ready();
    let come: (values: ReadonlyMap<string, string>) => void = () => undefined;
    bench.answer = () => new Promise((resolve) => (come = resolve));
    await bench.order(order('a'));
    expect(bench.asked).toMatchObject([{ ref: { id: 'a', attempt: 1 }, names: ['password'] }]);
    expect(bench.hosts.running).toEqual([]);
    come(new Map([['password', 'correct-horse']]));
    await turn();
    expect(bench.hosts.running).toEqual(['a']);
  });

  it('fails and is not run when they cannot be had', async () => {
    const bench = await Bench.ready();
    bench.answer = async () => {
      throw new Error('the server does not give the secrets of the task: no');
    };
    await bench.order(order('a'));
    await turn();
    expect(bench.hosts.running).toEqual([]);
    expect(bench.news()).toMatchObject([
      {
        id: 'a',
        event: 'finished',
        result: { status: 2, reason: 'the server does not give the secrets of the task: no' },
      },
    ]);
    // Its slot is free.
    await bench.assign('b', 'c');
    expect(bench.hosts.running).toEqual(['b', 'c']);
  });

  it('that is cancelled while they are on their way never begins', async () => {
    const bench = await Bench.ready();
    let come: (values: ReadonlyMap<string, string>) => void = () => undefined;
    bench.answer = () => new Promise((resolve) => (come = resolve));
    await bench.order(order('a'));
    await bench.order({ cancel: [ref('a')] });
    expect(bench.asked[0]?.signal.aborted).toBe(true);
    come(new Map([['password', 'correct-horse']]));
    await turn();
    expect(bench.hosts.running).toEqual([]);
    expect(bench.news()).toMatchObject([{ id: 'a', event: 'cancelled' }]);
  });

  /** On their way, and here when it is said. */
  async function fetching(): Promise<{ readonly bench: Bench; come(): Promise<void> }> {
    const bench = await Bench.ready({ max: 1, plugins: PLUGINS });
    const coming: ((values: ReadonlyMap<string, string>) => void)[] = [];
    bench.answer = () => new Promise((resolve) => coming.push(resolve));
    await bench.order(order('a'));
    const come = async (): Promise<void> => {
      for (const here of coming.splice(0)) here(new Map([['password', 'correct-horse']]));
      await turn();
    };
    return { bench, come };
  }

  it('is given back when the owner takes its plugin away meanwhile, and is not run', async () => {
    const { bench, come } = await fetching();
    const { p: _, ...plugins } = PLUGINS;
    bench.slot.reload(offer({ max: 1, plugins }));
    expect(bench.asked[0]?.signal.aborted).toBe(true);
    await come();
    expect(bench.hosts.running).toEqual([]);
    expect(bench.news()).toMatchObject([
      { id: 'a', event: 'returned', reason: "this node has no plugin 'p' any more" },
    ]);
  });

  it('runs what the plugin is then when that was changed meanwhile', async () => {
    const { bench, come } = await fetching();
    bench.slot.reload(offer({ max: 1, plugins: { ...PLUGINS, p: { program: '/bin/false', args: [] } } }));
    await come();
    expect(bench.hosts.orders).toMatchObject([
      { plugin: { program: '/bin/false' }, secrets: { password: 'correct-horse' } },
    ]);
  });

  it('is given back when the agent is stopped meanwhile: it has not begun', async () => {
    const { bench, come } = await fetching();
    bench.slot.stop();
    await come();
    expect(bench.hosts.running).toEqual([]);
    expect(bench.slot.takeNews()).toMatchObject({ news: [{ id: 'a', event: 'returned' }] });
  });

  it('does not begin when the server is lost meanwhile, and asks again when it may', async () => {
    const { bench, come } = await fetching();
    bench.slot.serverLost();
    await come();
    expect(bench.hosts.running).toEqual([]);
    bench.slot.serverBack();
    bench.taken();
    bench.clock.advance(INVENTORY_ANSWER_MS);
    await turn();
    expect(bench.asked).toHaveLength(2);
    await come();
    expect(bench.hosts.running).toEqual(['a']);
  });

  it('counts as one that waits for the server, which may take it back', async () => {
    const { bench, come } = await fetching();
    await bench.order({ recall: [ref('a')] });
    await come();
    expect(bench.news()).toMatchObject([{ id: 'a', event: 'returned' }]);
    await bench.assign('b');
    expect(bench.hosts.running).toEqual(['b']);
  });
});
