import { expect, test } from 'vitest';
import { Random } from '../../src/kernel/random.js';
import { Process, Timeline } from '../../src/kernel/timeline.js';
import { Trace } from '../../src/kernel/trace.js';
import { Network } from '../../src/kernel/zeromq/network.js';
import type { Path, ServerSide } from '../../src/kernel/zeromq/sides.js';

const FRAMES = [Buffer.from(''), Buffer.from('{}')];

function setUp() {
  const timeline = new Timeline();
  const network = new Network(timeline, new Random(1), new Trace(() => timeline.now, 10, null));
  const server = (host: string) => {
    const heard: string[] = [];
    const side: ServerSide = {
      process: new Process(host, timeline),
      host,
      key: host,
      handlers: {
        admits: () => true,
        received: (_channel: unknown, [, ...frames]: readonly Uint8Array[]) => void heard.push(String(frames.at(-1))),
      } as never,
    };
    network.listen(side);
    return { side, heard };
  };
  const agent = (node: string, host: string) => {
    const process = new Process(node, timeline);
    const path: Path = { node, latencyMs: [1, 1], cut: false, drop: 0, duplicate: 0, reorder: 0, delayMs: 0, sent: 0 };
    const events: string[] = [];
    const beats: string[] = [];
    network.subscribe(process, path, `tcp://${host}:10000`, (frames) => beats.push(String(frames.at(-1))));
    const dialing = network.dial({
      process,
      path,
      curveKey: new Uint8Array(32),
      configuration: {
        curve_public_key: host,
        push_jobs: { heartbeat: { command_addr: `tcp://${host}:10001` } },
      } as never,
      arrived: () => undefined,
      tell: (event) => events.push(event),
    });
    return { dialing, events, beats };
  };
  const pass = (ms: number) => {
    const until = timeline.now + ms;
    while (timeline.step(until));
  };
  return { network, server, agent, pass };
}

test('each node speaks to the server that its configuration names, and hears that one only', () => {
  const { network, server, agent, pass } = setUp();
  const [a, b] = [server('a'), server('b')];
  const [one, other] = [agent('one', 'a'), agent('other', 'b')];
  pass(100);
  one.dialing.send([Buffer.from(''), Buffer.from('{"type":"of one"}')]);
  other.dialing.send([Buffer.from(''), Buffer.from('{"type":"of the other"}')]);
  network.publish(a.side, FRAMES);
  pass(100);
  expect([a.heard, b.heard]).toEqual([['{"type":"of one"}'], ['{"type":"of the other"}']]);
  expect([one.beats, other.beats]).toEqual([['{}'], []]);
});

test('a server that goes takes its own connections with it, and no others', () => {
  const { network, server, agent, pass } = setUp();
  const a = server('a');
  server('b');
  const [one, other] = [agent('one', 'a'), agent('other', 'b')];
  pass(100);
  network.unlisten(a.side);
  pass(100);
  expect(one.events).toEqual(['connected', 'disconnected']);
  expect(other.events).toEqual(['connected']);
});

test('nobody listens where somebody listens already', () => {
  const { server } = setUp();
  server('a');
  expect(() => server('a')).toThrow('somebody listens at a');
});
