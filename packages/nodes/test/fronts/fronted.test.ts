import { Duplex } from 'node:stream';
import { ManualClock } from '@muster/base';
import { beforeEach, describe, expect, test } from 'vitest';
import { encodeLink, LINK_LIMITS, LINK_PROTOCOL, type LinkMessage, LinkReader } from '../../src/fronts/frames.js';
import { FrontedTransport } from '../../src/fronts/fronted.js';
import type { Handlers, Peer, Transport } from '../../src/transport.js';

const KEY = new Uint8Array(32).fill(1);
const FRAMES = [Buffer.from('header'), Buffer.from('body')] as const;

let clock: ManualClock;
let leader: FrontedTransport;
let received: (readonly Uint8Array[])[];
let dropped: string[];
let own: string[];
let drained: Set<string>;

/** A follower as the leader sees it: the other end of a stream. */
class Follower {
  readonly heard: LinkMessage[] = [];
  readonly stream: Duplex;
  readonly #reader = new LinkReader();
  admits = true;

  constructor(name: string, incarnation = name, weight?: number) {
    this.stream = new Duplex({
      read: () => undefined,
      write: (chunk: Buffer, _encoding, done) => {
        for (const message of this.#reader.read(chunk)) {
          this.heard.push(message);
          if (message.kind === 'admit' && this.admits) this.say({ kind: 'admitted', number: message.number });
        }
        done();
      },
    });
    leader.attach(this.stream);
    const where = {
      ...(weight !== undefined && { weight }),
      heartbeat: `tcp://${name}:1`,
      command: `tcp://${name}:2`,
      curvePublicKey: `key of ${name}`,
    };
    this.say({ kind: 'hello', hello: { protocol: LINK_PROTOCOL, incarnation, name, ...where } });
  }

  say(message: LinkMessage): void {
    this.stream.push(encodeLink(message));
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve));
const placed = async (node: string) => (await leader.placeOf(node, KEY, 60_000))?.name ?? 'leader';

beforeEach(async () => {
  clock = new ManualClock();
  received = [];
  dropped = [];
  own = [];
  const sockets: Transport = {
    start: async () => ({ heartbeat: 'h', command: 'c', curvePublicKey: 'k', plain: null }),
    send: () => void own.push('send'),
    publish: () => void own.push('publish'),
    hangUp: () => void own.push('hang up'),
    stop: async () => undefined,
  };
  drained = new Set();
  const log = { info: () => undefined, warn: () => undefined };
  const spot = { name: 'leader', weight: 1, drained: () => drained };
  leader = new FrontedTransport({ own: sockets, clock, log, ...spot });
  const handlers: Handlers = {
    received: (_channel, frames) => void received.push(frames),
    admits: () => true,
    sendDropped: (cause) => void dropped.push(cause),
    connectionClosed: () => undefined,
  };
  await leader.start(handlers);
});

describe('nodes of a cluster', () => {
  test('connect to the server that leads while there is no other', async () => {
    expect(await placed('n')).toBe('leader');
  });

  test('are spread over all servers, and stay where they are', async () => {
    for (const name of ['b', 'c']) new Follower(name);
    await turn();
    const names = Array.from({ length: 30 }, (_, n) => `n${n}`);
    const places = [];
    for (const name of names) places.push(await placed(name));
    for (const server of ['leader', 'b', 'c']) expect(places.filter((place) => place === server)).toHaveLength(10);
    for (const [n, name] of names.entries()) expect(await placed(name)).toBe(places[n]);
  });

  test('that ask at the same moment are spread, too', async () => {
    for (const name of ['b', 'c']) new Follower(name);
    await turn();
    const places = await Promise.all(Array.from({ length: 30 }, (_, n) => placed(`n${n}`)));
    for (const server of ['leader', 'b', 'c']) expect(places.filter((place) => place === server)).toHaveLength(10);
  });

  test('go to a server that joins until it has its share, when they ask again', async () => {
    for (let n = 0; n < 30; n++) await placed(`n${n}`);
    new Follower('b');
    await turn();
    for (let n = 0; n < 30; n++) await placed(`n${n}`);
    const there = leader.counts().get('b') ?? 0;
    expect(there).toBeGreaterThanOrEqual(12);
    expect(there).toBeLessThanOrEqual(15);
  });

  test('are spread by the weights of the servers', async () => {
    new Follower('b', 'b', 3);
    new Follower('c', 'c', 0);
    await turn();
    for (let n = 0; n < 40; n++) await placed(`n${n}`);
    expect(Object.fromEntries(leader.counts())).toEqual({ leader: 10, b: 30, c: 0 });
  });

  /** As agents do: who is told to ask again asks again. */
  const rounds = async (): Promise<readonly number[]> => {
    const moved: number[] = [];
    for (;;) {
      const told = leader.toMove(() => true);
      if (told.length === 0) return moved;
      moved.push(told.length);
      for (const node of told) await placed(node);
    }
  };

  test('leave a server that is drained, few at a time, and come back when it is not any more', async () => {
    for (const name of ['b', 'c']) new Follower(name);
    await turn();
    for (let n = 0; n < 600; n++) await placed(`n${n}`);
    expect(await rounds()).toEqual([]);
    drained.add('b');
    expect(await rounds()).toEqual(Array.from({ length: 34 }, (_, n) => (n < 33 ? 6 : 2)));
    expect(Object.fromEntries(leader.counts())).toEqual({ leader: 300, b: 0, c: 300 });
    drained.clear();
    expect((await rounds()).every((moved) => moved <= 6)).toBe(true);
    for (const size of leader.counts().values()) expect(size).toBeGreaterThanOrEqual(170);
  });

  test('that are told to move and have not asked yet are not told again at once, nor others in their place', async () => {
    for (let n = 0; n < 2; n++) await placed(`n${n}`);
    new Follower('b');
    await turn();
    const told = [leader.toMove(() => true), leader.toMove(() => true)].flat();
    expect(told).toEqual(['n0']);
    expect(leader.toMove((node) => node !== 'n1')).toEqual([]);
    for (let round = 0; round < 60; round++) told.push(...leader.toMove(() => true));
    expect(told).toEqual(['n0', 'n0']);
  });

  test('that were removed, or are cut off, count nowhere', async () => {
    new Follower('b');
    await turn();
    expect([await placed('m'), await placed('n')]).toEqual(['b', 'leader']);
    leader.forget('m');
    expect(Object.fromEntries(leader.counts())).toEqual({ leader: 1, b: 0 });
  });

  test('are not sent to a server that does not say in time that it lets them in', async () => {
    const follower = new Follower('b');
    follower.admits = false;
    await turn();
    const asked = placed('n');
    clock.advance(LINK_LIMITS.answerMs);
    expect(await asked).toBe('leader');
  });

  test('are sent elsewhere when the link with their server is gone', async () => {
    const follower = new Follower('b');
    await turn();
    expect(await placed('n')).toBe('b');
    follower.stream.destroy();
    await turn();
    expect(await placed('n')).toBe('leader');
  });
});

describe('what is said over a follower', () => {
  const identity = Buffer.from('12345678');

  /** A node that has said something over this follower. */
  const peerAt = async (follower: Follower): Promise<Peer> => {
    follower.say({ kind: 'message', identity, frames: FRAMES });
    await turn();
    return { channel: 'curve', identity: received.at(-1)?.[0] as Uint8Array };
  };

  test('is received, answered and cut off there, and at no other one', async () => {
    const [b, c] = [new Follower('b'), new Follower('c')];
    await turn();
    const [ofB, ofC] = [await peerAt(b), await peerAt(c)];
    expect(Buffer.from(ofB.identity)).not.toEqual(Buffer.from(ofC.identity));
    expect(received[0]?.slice(1).map(String)).toEqual(['header', 'body']);
    leader.send(ofB, () => FRAMES);
    leader.hangUp(ofC);
    await turn();
    expect(b.heard).toEqual([{ kind: 'message', identity, frames: [...FRAMES] }]);
    expect(c.heard).toEqual([{ kind: 'hang up', identity }]);
    expect(own).toEqual([]);
  });

  test('goes on over a new link of the same process, and not to another process of its name', async () => {
    const first = new Follower('b', 'process 1');
    await turn();
    const peer = await peerAt(first);
    const again = new Follower('b', 'process 1');
    await turn();
    leader.send(peer, () => FRAMES);
    await turn();
    expect(again.heard).toHaveLength(1);
    const other = new Follower('b', 'process 2');
    await turn();
    leader.send(peer, () => FRAMES);
    await turn();
    expect(other.heard).toEqual([]);
    expect(dropped).toEqual(['unreachable']);
  });

  test('the last heartbeat is told to a follower that comes later', async () => {
    leader.publish('curve', FRAMES);
    const late = new Follower('b');
    await turn();
    expect(late.heard).toEqual([{ kind: 'publish', frames: [...FRAMES] }]);
    expect(own).toEqual(['publish']);
  });

  test('ends when what comes is not what followers say', async () => {
    const follower = new Follower('b');
    await turn();
    follower.say({ kind: 'publish', frames: FRAMES });
    await turn();
    expect(follower.stream.destroyed).toBe(true);
  });
});
