import type { Headers } from '@muster/fabric';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { ScriptedParent } from '../packages/fabric/test/relay-support/scripted-parent.js';
import { typesOf } from '../packages/fabric/test/support/raw-client.js';
import { EventTree } from './support/event-tree.js';
import { metric } from './support/hostile.js';
import { IdleFirewall } from './support/idle-firewall.js';
import type { RelayProcess } from './support/relay-process.js';
import { until } from './support/until.js';

/** Heart-beats of a second; what is idle for longer than some of them is forgotten. */
const BEAT = '1';
const IDLE_MS = 2500;

let tree: EventTree;
/** Above `below`; sees every frame that a relay sends up. */
let parent: ScriptedParent;
let below: RelayProcess;

beforeAll(async () => {
  tree = await EventTree.start({ flags: ['--stomp-heartbeat', BEAT] });
  parent = await ScriptedParent.start();
  below = await tree.relay('below', parent.port, ['--anonymous']);
});
afterEach(() => tree.hangUp());
afterAll(async () => {
  await parent.die();
  await tree.stop();
});

test('3: 1,000 times subscribed and unsubscribed at the leaves, nothing is sent upstream', async () => {
  const leaf = await tree.relay('leaf', below.port, ['--anonymous']);
  const clients = await Promise.all(Array.from({ length: 10 }, () => tree.client(leaf.port)));
  const sent = parent.frames.length;
  for (let n = 0; n < 100; n++) {
    await Promise.all(
      clients.map(async (client, number) => {
        await client.subscribe(`s${n}`, `node = 'n${number}' AND round = ${n}`);
        await client.ask('UNSUBSCRIBE', [['id', `s${n}`]]);
      }),
    );
  }
  expect(parent.frames.slice(sent)).toEqual([]);
  expect((await below.status()).subscriptions).toBe(1);
  await leaf.kill();
});

test('4: SUBSCRIBE from upstream is ignored and counted: it is not answered, no client hears of it, and all goes on', async () => {
  const client = await tree.client(below.port);
  await client.subscribe('1');
  const before = await below.status();
  const sent = parent.frames.length;
  const headers: Headers = [
    ['id', 'intruder'],
    ['destination', '/topic/events'],
    ['receipt', 'answer-me'],
  ];
  parent.send('SUBSCRIBE', headers);
  parent.publish('after');
  expect(typesOf(await client.messages(1))).toEqual(['after']);
  const after = await below.status();
  expect(after.totals.ignored).toBe(before.totals.ignored + 1);
  expect([after.subscriptions, after.clients]).toEqual([before.subscriptions, before.clients]);
  expect(client.frames).toEqual([]);
  expect(parent.frames.slice(sent)).toEqual([]);
});

test('10: without upstream a relay refuses to start, and says what it needs', async () => {
  const run = await tree.cluster.muster('relay', '--login', 'default/relay', '--passcode', 'secret');
  expect(run.code).toBe(2);
  expect(run.stderr).toContain('a relay needs an upstream');
});

test('20: behind a path that forgets what is idle, heart-beats keep a relay and its clients connected', async () => {
  const above = await IdleFirewall.open(tree.port, IDLE_MS);
  const relay = await tree.relay('kept', above.port, ['--heart-beat', `${BEAT}s`]);
  const beneath = await IdleFirewall.open(relay.port, IDLE_MS);
  const program = await tree.program(beneath.port, { heartBeatMs: Number(BEAT) * 1000 });
  const events = program.subscribe({ selector: "type = 'still.there'" });
  await events.ready;
  // Beside them connections without heart-beats, which are forgotten.
  const [silent] = await Promise.all([above, beneath].map(({ port }) => tree.client(port)));
  await until('silent connections to be forgotten', () => above.forgotten + beneath.forgotten === 2);
  await program.publish({ type: 'still.there' });
  expect((await events.next()).value?.type).toBe('still.there');
  expect((await relay.status()).upstream.connects).toBe(1);
  expect([above.forgotten, beneath.forgotten, silent?.closed]).toEqual([1, 1, false]);
  await tree.hangUp();
  await relay.kill();
  await Promise.all([above.close(), beneath.close()]);
});

test('20: a loss that nobody tells is noticed by missing heart-beats: on both ends, by relays and by programs', async () => {
  const above = await IdleFirewall.open(tree.port, 60_000);
  const relay = await tree.relay('lost', above.port, ['--heart-beat', `${BEAT}s`]);
  const beneath = await IdleFirewall.open(relay.port, 60_000);
  const program = await tree.program(beneath.port, { heartBeatMs: Number(BEAT) * 1000 });
  const events = program.subscribe({ selector: "type = 'again'" });
  await events.ready;
  above.restart();
  await relay.reaches('to be connected again', ({ upstream }) => upstream.connects === 2);
  expect((await events.next()).value?.isMarker).toBe(true);
  await until(
    'the server to have noticed',
    async () => (await metric(tree.cluster.url, 'muster_event_silent_total')) > 0,
  );
  beneath.restart();
  await relay.reaches('to have noticed', ({ totals }) => totals.silent === 1);
  await relay.reaches('to have the program again', ({ subscriptions }) => subscriptions === 1);
  await program.publish({ type: 'again' });
  expect((await events.next()).value?.type).toBe('again');
  await tree.hangUp();
  await relay.kill();
  await Promise.all([above.close(), beneath.close()]);
});
