import { createPrivateKey, randomBytes } from 'node:crypto';
import { ManualClock } from '@muster/base';
import { generateKeyPair, type KeyPair } from '@muster/signing';
import { encryptSessionKey, type NodeConfiguration } from '@muster/wire';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { REJECTED_FIRST_MS, REJECTED_LONGEST_MS } from '../../src/limits.js';
import { Link } from '../../src/link/link.js';
import { Outbox } from '../../src/link/outbox.js';
import { silent } from '../support/agent.js';
import { FakeSockets } from '../support/fake-sockets.js';
import { unpinned } from '../support/unpinned.js';

/** Long enough that neither heartbeats nor the lifetime of the configuration play a part. */
const FAR_SECONDS = 24 * 3600;

let keys: KeyPair;
let clock: ManualClock;
let sockets: FakeSockets;
let link: Link;
/** Times the configuration was asked for. */
let asked: number;
/** From 0 to below 1: all but the longest pause, unless a test says otherwise. */
let random: number;

beforeAll(async () => {
  keys = await generateKeyPair();
});
beforeEach(async () => {
  clock = new ManualClock();
  sockets = new FakeSockets();
  random = 1 - Number.EPSILON;
  const answer = { configuration: configuration(), serverDate: null };
  const identity = {
    server: new URL('http://server.example'),
    org: 'acme',
    name: 'node1',
    key: createPrivateKey(keys.privateKey),
    ca: null,
  };
  asked = 0;
  const host = {
    sockets,
    configuration: async () => {
      asked += 1;
      return answer;
    },
  };
  const pin = await unpinned();
  const nothing = (): void => undefined;
  link = new Link(
    { identity, incarnation: 'i', clock, logger: silent, random: () => random, host, pin },
    new Outbox(
      () => ({ type: 'heartbeat', state: 'ready', jobId: null, last: null }),
      () => null,
    ),
    { connected: nothing, heard: nothing, message: nothing, offline: nothing, online: nothing, tick: nothing },
  );
  await configured();
});
afterEach(() => link.close(0));

describe('an agent whose keys the server does not know', () => {
  it.each(['rejected', 'refused'] as const)('hangs up when it is %s and does not try again before a pause', (event) => {
    newest().tell(event);
    expect(sockets.open).toEqual([]);
    clock.advance(REJECTED_FIRST_MS - 1);
    expect(sockets.channels).toHaveLength(1);
    clock.advance(1);
    expect(sockets.channels).toHaveLength(2);
    expect(sockets.open).toHaveLength(1);
  });

  it('pauses twice as long each time, up to a bound that holds however often it is rejected', () => {
    const pauses = Array.from({ length: 40 }, () => pauseAfterRejection());
    expect(pauses.slice(0, 4)).toEqual([5_000, 10_000, 15_000, 15_000]);
    expect(new Set(pauses.slice(2))).toEqual(new Set([REJECTED_LONGEST_MS]));
  });

  it('pauses by chance for down to half as long, so that many agents do not come back at once', () => {
    random = 0;
    expect([1, 2, 3, 4].map(() => pauseAfterRejection())).toEqual([2_500, 5_000, 7_500, 7_500]);
  });

  it('begins with the first pause again once a handshake has succeeded', () => {
    for (let time = 0; time < 3; time++) pauseAfterRejection();
    newest().tell('connected');
    expect(pauseAfterRejection()).toBe(REJECTED_FIRST_MS);
    expect(pauseAfterRejection()).toBe(2 * REJECTED_FIRST_MS);
  });

  it('asks for its configuration once when a connection that stood is refused, so that its log says why', async () => {
    random = 0;
    newest().tell('connected');
    newest().tell('disconnected');
    const before = asked;
    newest().tell('rejected');
    clock.advance(0);
    expect(asked).toBe(before + 1);
    await expect.poll(() => sockets.open).toHaveLength(1);
    newest().tell('rejected');
    clock.advance(0);
    expect(asked).toBe(before + 1);
  });

  it('does not pause when a connection that stood breaks', () => {
    newest().tell('connected');
    newest().tell('disconnected');
    expect(sockets.channels).toHaveLength(2);
    expect(sockets.open).toHaveLength(1);
  });

  it('tries at once with the keys of a new configuration, and the pause that was running opens nothing more', async () => {
    newest().tell('rejected');
    await configured();
    expect(sockets.open).toHaveLength(1);
    const opened = sockets.channels.length;
    clock.advance(REJECTED_LONGEST_MS);
    expect(sockets.channels).toHaveLength(opened);
  });

  it('goes on with longer pauses when the new keys are rejected as well', async () => {
    pauseAfterRejection();
    await configured();
    expect(pauseAfterRejection()).toBe(2 * REJECTED_FIRST_MS);
  });

  it('takes no notice of what becomes of a socket that it has closed', () => {
    const old = newest();
    old.tell('rejected');
    old.tell('rejected');
    old.tell('connected');
    expect(link.established).toBe(false);
    clock.advance(REJECTED_FIRST_MS);
    expect(pauseAfterRejection()).toBe(2 * REJECTED_FIRST_MS);
  });

  it('opens nothing after it was closed', async () => {
    newest().tell('rejected');
    await link.close(0);
    clock.advance(REJECTED_LONGEST_MS);
    expect(sockets.open).toEqual([]);
    expect(clock.pending).toBe(0);
  });
});

function newest() {
  const channel = sockets.channels.at(-1);
  if (channel === undefined) throw new Error('no command socket was opened');
  return channel;
}

/** Rejects the present connection; milliseconds until the next is tried. */
function pauseAfterRejection(): number {
  const before = sockets.channels.length;
  const began = clock.now();
  newest().tell('rejected');
  while (sockets.channels.length === before && clock.now() - began < 2 * REJECTED_LONGEST_MS) clock.advance(1);
  return clock.now() - began;
}

/** Resolves when a configuration that was asked for now is in force. */
async function configured(): Promise<void> {
  const before = sockets.channels.length;
  link.reconfigure('the test says so');
  await expect.poll(() => sockets.channels.length).toBeGreaterThan(before);
}

function configuration(): NodeConfiguration {
  const address = 'tcp://server.example:10001';
  return {
    type: 'config',
    host: 'server.example',
    push_jobs: {
      heartbeat: {
        out_addr: 'tcp://server.example:10000',
        command_addr: address,
        interval: FAR_SECONDS,
        offline_threshold: 3,
        online_threshold: 2,
      },
      command_addr: address,
    },
    node: 'node1',
    organization: 'acme',
    public_key: keys.publicKey,
    encoded_session_key: { method: 'hmac_sha256', key: encryptSessionKey(randomBytes(32), keys.publicKey) },
    lifetime: 10 * FAR_SECONDS,
    max_message_skew: 300,
    max_body_size: 65_536,
    incarnation_id: 'server-1',
    output_limit: 0,
  };
}
