import type { Channel } from '@muster/fabric';
import { expect, test } from 'vitest';
import { Random } from '../../src/kernel/random.js';
import type { Host, Link } from '../../src/kernel/tcp/host.js';
import { Network } from '../../src/kernel/tcp/network.js';
import { Process, Timeline } from '../../src/kernel/timeline.js';

const URL = 'stomp://server:61613';
const LINK_MS = 5;

/** A client connected to a server that notes what it hears. */
async function connected() {
  const timeline = new Timeline();
  const network = new Network({ timeline, random: new Random(1), windowBytes: 65_536, splits: 0, read() {} });
  const link: Link = { name: 'client', latencyMs: [LINK_MS, LINK_MS], cut: false, delayMs: 0 };
  const server: Host = { name: 'server', process: new Process('server', timeline), reading: null };
  const client: Host = { name: 'client', process: new Process('client', timeline), reading: null };
  const heard: string[] = [];
  network.listen(server, server.process as Process, URL, () => ({
    data: (bytes) => void heard.push(Buffer.from(bytes).toString()),
    drained() {},
    closed() {},
  }));
  const dialing = network.dial(
    client,
    client.process as Process,
    link,
    URL,
    {},
    { data() {}, drained() {}, closed() {} },
  );
  const pass = (ms: number): void => {
    const until = timeline.now + ms;
    while (timeline.step(until));
  };
  pass(2 * LINK_MS);
  const channel: Channel = await dialing;
  const die = (silent: boolean): void => {
    client.process?.die();
    network.died(client.process as Process, silent);
  };
  return { network, link, heard, channel, pass, die };
}

const say = (channel: Channel, text: string): void => channel.write(new TextEncoder().encode(text));

test('what a cut holds back arrives when it is healed', async () => {
  const { network, link, heard, channel, pass } = await connected();
  network.cut(link);
  say(channel, 'hello');
  pass(1_000);
  expect(heard).toEqual([]);
  network.heal(link);
  pass(LINK_MS);
  expect(heard).toEqual(['hello']);
});

test.each([
  ['its process', false],
  ['its whole machine', true],
])('what a cut holds back is lost when %s dies meanwhile, as nobody repeats it', async (_who, silent) => {
  const { network, link, heard, channel, pass, die } = await connected();
  network.cut(link);
  say(channel, 'hello');
  die(silent);
  pass(1_000);
  network.heal(link);
  pass(1_000);
  expect(heard).toEqual([]);
});

test('what was on its way when the network was cut is lost as well when its sender has died', async () => {
  const { network, link, heard, channel, pass, die } = await connected();
  say(channel, 'hello');
  die(true);
  network.cut(link);
  pass(1_000);
  network.heal(link);
  pass(1_000);
  expect(heard).toEqual([]);
});
