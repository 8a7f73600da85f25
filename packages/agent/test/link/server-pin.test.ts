import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateKeyPair, linkKeys, type ServerKey, type ServerKeyLink, serverKey, vouch } from '@muster/signing';
import { encodeServerHeartbeat, type NodeConfiguration, openServerHeartbeat } from '@muster/wire';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { durableFiles } from '../../src/durable.js';
import { ServerPin } from '../../src/link/server-pin.js';

/** Keys of a server, one after the other; the last is of somebody else. */
let keys: ServerKey[];
let dataDir: string;

const STRANGER = 4;
const CURVE = '0'.repeat(40);

beforeAll(async () => {
  const pairs = await Promise.all(Array.from({ length: 5 }, () => generateKeyPair()));
  keys = pairs.map(({ privateKey }) => serverKey(privateKey));
});
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'muster-pin-'));
});
afterEach(() => rmSync(dataDir, { recursive: true }));

function key(index: number): ServerKey {
  const found = keys[index];
  if (found === undefined) throw new Error('no such key');
  return found;
}

function link(from: number, to: number): ServerKeyLink {
  return linkKeys(key(from), key(to), { announcedAt: 0, takesOverAt: 1000, revoked: false });
}

/** What a server answers that has this key. */
function answer(index: number, { links = [], next }: { links?: ServerKeyLink[]; next?: ServerKeyLink } = {}) {
  const address = 'tcp://server.example:10001';
  const heartbeat = {
    out_addr: address,
    command_addr: address,
    interval: 15,
    offline_threshold: 3,
    online_threshold: 2,
  };
  const proof = { voucher: vouch(key(index), CURVE, 'life'), links, ...(next !== undefined && { next }) };
  const configuration: NodeConfiguration = {
    type: 'config',
    host: 'server.example',
    push_jobs: { heartbeat, command_addr: address },
    node: 'node1',
    organization: 'acme',
    public_key: `${key(index).publicKey.trimEnd()}\n\n`,
    curve_public_key: CURVE,
    encoded_session_key: { method: 'hmac_sha256', key: 'unused' },
    lifetime: 3600,
    max_message_skew: 300,
    max_body_size: 65_536,
    incarnation_id: 'life',
    output_limit: 0,
    server_key: proof,
  };
  return configuration;
}

/** The agent asks, and is restarted after that. */
async function meets(configuration: NodeConfiguration): Promise<void> {
  const pin = await open();
  pin.check(configuration);
  await pin.keep(configuration);
}

const open = (): Promise<ServerPin> => ServerPin.open(dataDir, durableFiles);

describe('an agent', () => {
  test('believes the first answer, and then no other server', async () => {
    await meets(answer(0));
    await meets(answer(0));
    const pin = await open();
    expect(() => pin.check(answer(STRANGER))).toThrow(/not the server that the node knows.*nothing that the known key/);
    const path = join(dataDir, 'server.pub');
    expect(() => pin.check(answer(STRANGER))).toThrow(
      expect.objectContaining({ advice: expect.stringContaining(path) }),
    );
  });

  test('does not believe the first answer when its owner has put the key of another server there', async () => {
    writeFileSync(join(dataDir, 'server.pub'), key(0).publicKey);
    await expect(meets(answer(STRANGER))).rejects.toThrow('not the server');
    await meets(answer(0));
  });

  test('takes a key that follows from the one that it knows, and keeps it', async () => {
    await meets(answer(0));
    await meets(answer(1, { links: [link(0, 1)] }));
    expect((await open()).known).toBe(key(1).fingerprint);
    await meets(answer(1));
  });

  test('that was away during several rotations comes back by their links', async () => {
    await meets(answer(0));
    await meets(answer(3, { links: [link(0, 1), link(1, 2), link(2, 3)] }));
    expect((await open()).known).toBe(key(3).fingerprint);
  });

  test('does not come back by links of which one is missing, or is by somebody else', async () => {
    await meets(answer(0));
    await expect(meets(answer(2, { links: [link(0, 1)] }))).rejects.toThrow('not the server');
    await expect(meets(answer(2, { links: [link(0, 1), link(STRANGER, 2)] }))).rejects.toThrow('not the server');
    expect((await open()).known).toBe(key(0).fingerprint);
  });

  test('does not go back to a key that was replaced: it may be known to others by now', async () => {
    await meets(answer(0));
    await meets(answer(1, { links: [link(0, 1)] }));
    await expect(meets(answer(0))).rejects.toThrow('not the server');
    await expect(meets(answer(0, { links: [link(0, 1)] }))).rejects.toThrow('not the server');
  });

  test('takes the announced key besides the present one, until the announcement is taken back', async () => {
    const pin = await open();
    const signs = (index: number) => (configuration: NodeConfiguration) => {
      const frames = encodeServerHeartbeat(
        { server: 's', incarnation: 'life', sequence: 1, now: 0 },
        key(index).privateKey,
      );
      return pin.check(configuration).some((one) => {
        try {
          return openServerHeartbeat(frames, one, { dialect: 'native', now: 0, maxSkewMs: 1000 }).sequence === 1;
        } catch {
          return false;
        }
      });
    };
    const announced = answer(0, { next: link(0, 1) });
    expect([signs(0)(announced), signs(1)(announced), signs(2)(announced)]).toEqual([true, true, false]);
    await pin.keep(announced);
    // Until it takes over, the node knows the present one alone.
    expect(pin.known).toBe(key(0).fingerprint);
    expect([signs(0)(answer(0)), signs(1)(answer(0))]).toEqual([true, false]);
    const forged = answer(0, { next: { ...link(STRANGER, 1), previous: key(0).publicKey } });
    expect(signs(1)(forged)).toBe(false);
  });

  test('believes no answer of its server for a command channel of somebody else', async () => {
    const taken = { ...answer(0), curve_public_key: '1'.repeat(40) };
    await expect(meets(taken)).rejects.toThrow('has not vouched for the command channel');
    const { server_key: _, ...bare } = answer(0);
    await meets(bare);
    expect((await open()).known).toBe(null);
    await meets(answer(0));
    await expect(meets(bare)).rejects.toThrow('has not vouched');
  });

  test('whose file is none of a key says so, and what belongs there', async () => {
    writeFileSync(join(dataDir, 'server.pub'), 'something');
    await expect(open()).rejects.toThrow(/server\.pub is not the public key of a server.*server-key status/);
    expect(readFileSync(join(dataDir, 'server.pub'), 'utf8')).toBe('something');
  });
});
