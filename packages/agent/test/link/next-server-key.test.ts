import { createPrivateKey, createPublicKey, randomBytes } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { ManualClock } from '@muster/base';
import { generateKeyPair, type KeyPair } from '@muster/signing';
import { encodeServerHeartbeat, encryptSessionKey, type NodeConfiguration } from '@muster/wire';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { Connection } from '../../src/link/connection.js';
import { silent } from '../support/agent.js';
import { FakeSockets } from '../support/fake-sockets.js';

/** Heartbeats while the server's key is replaced: by the present key, then by the announced one, and never back. */

let present: KeyPair;
let next: KeyPair;
let node: KeyPair;
let clock: ManualClock;
let beats: PassThrough;
let connection: Connection;
/** What became of the heartbeats, in their order. */
let heard: (number | string)[];

beforeAll(async () => {
  [present, next, node] = (await Promise.all([generateKeyPair(), generateKeyPair(), generateKeyPair()])) as [
    KeyPair,
    KeyPair,
    KeyPair,
  ];
});
beforeEach(() => {
  clock = new ManualClock();
  beats = new PassThrough({ objectMode: true });
  heard = [];
  const address = 'tcp://server.example:10001';
  const heartbeat = {
    out_addr: address,
    command_addr: address,
    interval: 15,
    offline_threshold: 3,
    online_threshold: 2,
  };
  const configuration: NodeConfiguration = {
    type: 'config',
    host: 'server.example',
    push_jobs: { heartbeat, command_addr: address },
    node: 'node1',
    organization: 'acme',
    public_key: present.publicKey,
    encoded_session_key: { method: 'hmac_sha256', key: encryptSessionKey(randomBytes(32), node.publicKey) },
    lifetime: 3600,
    max_message_skew: 300,
    max_body_size: 65_536,
    incarnation_id: 'life',
    output_limit: 0,
  };
  const socket = {
    closed: false,
    close: () => beats.end(),
    [Symbol.asyncIterator]: () => beats[Symbol.asyncIterator](),
  };
  const sockets = Object.assign(new FakeSockets(), { subscribe: () => socket });
  const serverKeys = [present, next].map(({ publicKey }) => createPublicKey(publicKey));
  const privateKey = createPrivateKey(node.privateKey);
  connection = new Connection(
    {
      ...{ configuration, sockets, privateKey, serverKeys },
      ...{ incarnation: 'i', clock, logger: silent },
      curve: sockets.curveKeys(),
    },
    { take: () => null, putBack: () => undefined },
    {
      heartbeat: ({ sequence }) => heard.push(sequence),
      dropped: (cause) => heard.push(cause),
      message: () => undefined,
      channel: () => undefined,
    },
  );
  connection.open();
});
afterEach(() => connection.close());

const beat = (sequence: number, { privateKey }: KeyPair): void => {
  const frames = encodeServerHeartbeat({ server: 's', incarnation: 'life', sequence, now: clock.now() }, privateKey);
  beats.write(frames.map((frame) => Buffer.from(frame)));
};

test('are taken by either key, by the former one until the next has signed', async () => {
  beat(1, present);
  beat(2, present);
  beat(3, next);
  beat(4, present);
  beat(5, next);
  await expect.poll(() => heard).toEqual([1, 2, 3, 'bad_sig', 5]);
});

test('that were heard before are not heard again, whichever key has signed them', async () => {
  beat(7, present);
  beat(6, next);
  beat(7, next);
  beat(8, node);
  beat(8, present);
  await expect.poll(() => heard).toEqual([7, 'replayed', 'replayed', 'bad_sig', 8]);
});
