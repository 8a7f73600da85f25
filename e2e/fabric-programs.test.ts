import type { Headers } from '@muster/fabric';
import { type Client, type EventMessage, type Subscription, signEvent } from '@muster/fabric/client';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { EventTree } from './support/event-tree.js';
import type { RelayProcess } from './support/relay-process.js';

const KEY = 'shared by publishers and subscribers';
const ANSWER_MS = 60_000;

/** root – one – two – three, as processes. */
let tree: EventTree;
let relays: RelayProcess[];

beforeAll(async () => {
  tree = await EventTree.start();
  relays = [await tree.relay('one', tree.port)];
  for (const name of ['two', 'three']) relays.push(await tree.relay(name, relays.at(-1)?.port ?? 0));
});
afterEach(() => tree.hangUp());
afterAll(() => tree.stop());

const lowest = () => tree.program(relays.at(-1)?.port ?? 0);

async function take(events: Subscription, count: number): Promise<EventMessage[]> {
  const taken: EventMessage[] = [];
  while (taken.length < count) {
    const { value } = await events.next();
    if (value === undefined) throw new Error('no more events');
    taken.push(value);
  }
  return taken;
}

describe('12: signatures', () => {
  const ATTRIBUTES: Headers = [
    ['type', 'valve'],
    ['set', 'open'],
    ['place', 'north:3\\4\n'],
  ];
  const altered = (changed: Headers): [Headers, string] => [changed, 'body'];

  test('12: a signed event verifies below three relays', async () => {
    const events = (await lowest()).subscribe({ selector: "type = 'valve'", verify: KEY });
    await events.ready;
    const attributes = ATTRIBUTES.slice(1);
    await (await tree.program(tree.port)).publish({ type: 'valve', attributes, body: 'a\0b', sign: KEY });
    const [event] = await take(events, 1);
    expect(event?.attributes.slice(0, -1)).toEqual(ATTRIBUTES);
    expect(event?.text()).toBe('a\0b');
  });

  test.each([
    ['an attribute was changed', altered([...ATTRIBUTES.slice(0, 2), ['place', 'south']])],
    ['attributes were put in another order', altered([...ATTRIBUTES].reverse())],
    ['an attribute was inserted', altered([...ATTRIBUTES, ['by', 'eve']])],
    ['an attribute was taken away', altered(ATTRIBUTES.slice(0, 2))],
    ['the body was changed', [ATTRIBUTES, 'bodies'] as [Headers, string]],
  ])('12: below three relays it is refused when %s', async (_, [attributes, body]) => {
    const signature = await signEvent(ATTRIBUTES, Buffer.from('body'), KEY);
    const refused: EventMessage[] = [];
    const events = (await lowest()).subscribe({
      selector: "type = 'valve'",
      verify: KEY,
      onRefused: (event) => refused.push(event),
    });
    await events.ready;
    const publisher = await tree.client(tree.port);
    const signed = (sent: Headers): Headers => [['destination', '/topic/events'], ...sent, ['signature', signature]];
    await publisher.ask('SEND', signed(attributes), body);
    await publisher.ask('SEND', signed(ATTRIBUTES), 'body');
    const [genuine] = await take(events, 1);
    expect(genuine?.attributes.slice(0, -1)).toEqual(ATTRIBUTES);
    expect(refused.map((event) => event.attributes.slice(0, -1))).toEqual([attributes]);
  });
});

describe('13: completions', () => {
  /** Does what it is told, by type of command. */
  async function agent(program: Client, type: string, work: (command: EventMessage) => Promise<void>): Promise<void> {
    const commands = program.subscribe({ selector: `type = '${type}'` });
    await commands.ready;
    void (async () => {
      for await (const command of commands) await work(command);
    })();
  }

  test('13: a command goes down with its token, its completion goes up and comes to who waits, at any level, with its error', async () => {
    const program = await lowest();
    await agent(program, 'run', async (command) => {
      await program.complete(command, Number(command.get('exit')));
    });
    for (const port of [tree.port, ...relays.map((relay) => relay.port)]) {
      const request = { type: 'run', attributes: [['exit', '7']] as const };
      const { error } = await (await tree.program(port)).request(request, { timeoutMs: ANSWER_MS });
      expect(error).toBe(7);
    }
  });

  test('13: a completion is for its command, also when an agent gives a command of its own before it completes', async () => {
    const [outer, inner] = [await lowest(), await tree.program(relays[0]?.port ?? 0)];
    await agent(inner, 'inner', (command) => inner.complete(command, 3).then(() => undefined));
    await agent(outer, 'outer', async (command) => {
      const { error } = await outer.request({ type: 'inner' }, { timeoutMs: ANSWER_MS });
      await outer.complete(command, 10 + error);
    });
    const waiter = await tree.program(tree.port);
    const { error } = await waiter.request({ type: 'outer' }, { timeoutMs: ANSWER_MS });
    expect(error).toBe(13);
  });

  test('13: commands that are completed in another order get each their own completion, once', async () => {
    const program = await lowest();
    const open: EventMessage[] = [];
    await agent(program, 'slow', async (command) => {
      open.push(command);
      if (open.length < 5) return;
      for (const each of open.splice(0).reverse()) await program.complete(each, Number(each.get('n')));
    });
    const waiter = await tree.program(relays[1]?.port ?? 0);
    const all = waiter.subscribe({ selector: "type = 'complete' OR type = 'end'" });
    await all.ready;
    const errors = await Promise.all(
      [1, 2, 3, 4, 5].map(async (n) => {
        const request = { type: 'slow', attributes: [['n', String(n)]] as const };
        return (await waiter.request(request, { timeoutMs: ANSWER_MS })).error;
      }),
    );
    expect(errors).toEqual([1, 2, 3, 4, 5]);
    await waiter.publish({ type: 'end' });
    const completions = await take(all, 6);
    expect(new Set(completions.map((event) => event.get('token'))).size).toBe(6);
    expect(completions.at(-1)?.type).toBe('end');
  });
});

describe('14: future events', () => {
  test('14: those of the past and of now come at once, those of the future when they are due', async () => {
    const program = await lowest();
    const events = program.subscribe({ selector: "type LIKE 'due.%'" });
    await events.ready;
    const dueMs = Date.now() + 500;
    const { scheduled } = await program.publish({ type: 'due.future', at: dueMs });
    await program.publish({ type: 'due.past', at: '2020-01-01T00:00:00Z' });
    await program.publish({ type: 'due.now', at: Date.now() });
    const taken = new Map((await take(events, 3)).map((event) => [event.type, event]));
    expect([...taken.keys()].sort()).toEqual(['due.future', 'due.now', 'due.past']);
    expect(Date.parse(taken.get('due.future')?.time ?? '')).toBeGreaterThanOrEqual(dueMs);
    expect(scheduled).toMatch(/./);
  });

  test('14: of equal times they come in the order in which they were published, after those of earlier times, and each once', async () => {
    const program = await lowest();
    const events = program.subscribe({ selector: "type IN ('equal', 'earlier')" });
    await events.ready;
    const dueMs = Date.now() + 2000;
    const equal = ['1', '2', '3', '4', '5'];
    for (const n of equal) await program.publish({ type: 'equal', attributes: [['n', n]], at: dueMs });
    await program.publish({ type: 'earlier', at: dueMs - 1 });
    const [first, ...others] = await take(events, 6);
    expect(first?.type).toBe('earlier');
    expect(others.map((event) => event.get('n'))).toEqual(equal);
    await program.publish({ type: 'earlier', attributes: [['n', 'last']] });
    expect((await take(events, 1))[0]?.get('n')).toBe('last');
  });
});
