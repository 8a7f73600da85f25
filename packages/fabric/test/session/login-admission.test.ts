import { ManualClock } from '@muster/base';
import { type Channel, FABRIC_LIMITS } from '@muster/fabric';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { networkOf } from '../../src/session/login-admission.js';
import { RootFixture } from '../support/root-fixture.js';

const HALF = FABRIC_LIMITS.unauthenticatedConnections / 2;

let clock: ManualClock;
let given: RootFixture;
beforeEach(() => {
  clock = new ManualClock();
  given = new RootFixture({ clock });
});
afterEach(() => given.end());

/** A connection that says nothing by itself. Answers what it was told, when it was refused. */
function connect(remote: string) {
  let told = '';
  const channel: Channel = {
    remote,
    pending: 0,
    write: (bytes) => {
      told += Buffer.from(bytes).toString();
    },
    pause() {},
    resume() {},
    end: () => setImmediate(() => handlers.closed(null)),
    destroy: () => setImmediate(() => handlers.closed(null)),
  };
  const handlers = given.root.accept(channel);
  return {
    get told() {
      return told;
    },
    say: (text: string) => handlers.data(Buffer.from(text)),
    close: () => handlers.closed(null),
  };
}

const many = (count: number, remote: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => connect(remote(index)));

describe('connections that do not log in', () => {
  test('of one address do not keep others from logging in', async () => {
    const silent = many(FABRIC_LIMITS.unauthenticatedConnections, (index) => `192.0.2.1:${1024 + index}`);
    expect(silent.filter(({ told }) => told === '')).toHaveLength(HALF);
    expect(silent.at(-1)?.told).toContain(`connections from 192.0.2.1 that have not logged in`);
    const other = connect('192.0.2.2:1024');
    other.say('CONNECT\naccept-version:1.2\nlogin:default/client\npasscode:secret\n\n\0');
    await given.until(() => other.told.startsWith('CONNECTED'));
  });

  test('are as many as the limit says, all together', () => {
    const all = many(FABRIC_LIMITS.unauthenticatedConnections, (index) => `198.51.${index >> 8}.${index & 255}:1024`);
    expect(all.every(({ told }) => told === '')).toBe(true);
    expect(connect('192.0.2.1:1024').told).toContain(`limit ${FABRIC_LIMITS.unauthenticatedConnections}`);
  });

  test('make room when they log in, close, or have taken too long', async () => {
    const here = () => '192.0.2.1:1024';
    const [first, second] = many(HALF, here);
    expect(connect(here()).told).toContain('too_busy');
    first?.say('CONNECT\naccept-version:1.2\nlogin:default/client\npasscode:secret\n\n\0');
    await given.until(() => first?.told.startsWith('CONNECTED') === true);
    second?.close();
    expect(many(3, here).map(({ told }) => told === '')).toEqual([true, true, false]);
    // Not given back twice.
    first?.close();
    expect(connect(here()).told).toContain('too_busy');
    clock.advance(FABRIC_LIMITS.loginMs);
    await new Promise(setImmediate);
    expect(many(HALF + 1, here).filter(({ told }) => told === '')).toHaveLength(HALF);
  });

  test('are counted when they are refused, and told in the log now and then', () => {
    many(HALF + 100, () => '192.0.2.1:1024');
    clock.advance(9_999);
    connect('192.0.2.1:1024');
    expect(given.root.metrics.refusedBeforeLogin).toBe(101);
    clock.advance(1);
    many(HALF + 1, () => '192.0.2.1:1024');
    const warnings = given.lines.filter(({ level }) => level === 'warn');
    expect(warnings.map(({ details }) => details)).toEqual([
      { from: '192.0.2.1', held: HALF, all: HALF, refused: 1 },
      expect.objectContaining({ from: '192.0.2.1', held: HALF, refused: 101 }),
    ]);
  });
});

test.each([
  ['192.0.2.1:1024', '192.0.2.1'],
  ['[2001:db8:1:2:3:4:5:6]:1024', '2001:db8:1:2::/64'],
  ['[2001:db8::1]:1024', '2001:db8:0:0::/64'],
  ['[fe80::1%eth0]:1024', 'fe80:0:0:0::/64'],
  ['[::1]:1024', '0:0:0:0::/64'],
  ['unknown', 'unknown'],
])('%s counts for %s', (remote, network) => {
  expect(networkOf(remote)).toBe(network);
});
