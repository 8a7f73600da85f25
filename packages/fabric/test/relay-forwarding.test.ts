import { ManualClock } from '@muster/base';
import { parseSelector } from '@muster/selector';
import { beforeEach, expect, test } from 'vitest';
import type { PrincipalKind } from '../src/event/access.js';
import { ForwardedSubscriptions } from '../src/relay/forwarding/forwarded-subscriptions.js';
import type { Replay } from '../src/session/broker.js';

/** To upstream a relay is one client, and has one subscription of its own. */
const MOST = 8191;

let forwarded: ForwardedSubscriptions;
beforeEach(() => {
  forwarded = new ForwardedSubscriptions(false, new ManualClock());
});

function add(principal: string, kind: PrincipalKind = 'node'): Replay {
  return forwarded.add({
    subscriber: { ready: true, deliver() {}, missed() {}, receipt() {}, fail() {} },
    principal,
    kind,
    org: 'default',
    selector: parseSelector('', { sugar: false }),
    selectorText: '',
    from: { kind: 'first' },
    fromText: 'first',
    durable: null,
    ack: 'auto',
    receipt: null,
  });
}

function addAll(principal: string, kind?: PrincipalKind): Replay[] {
  const added: Replay[] = [];
  for (;;) {
    try {
      added.push(add(principal, kind));
    } catch (error) {
      expect(error).toMatchObject({ code: 'stomp_too_many' });
      return added;
    }
  }
}

test('one client of a relay leaves others half of the subscriptions that go up', () => {
  const greedy = addAll('default/greedy');
  expect(greedy.length).toBe(Math.ceil(MOST / 2));
  expect(() => add('default/greedy')).toThrow("for 'default/greedy' (limit 4096)");
  add('default/other');
  add('default/greedy', 'user');
  expect(forwarded.size).toBe(greedy.length + 2);
});

test('what has ended makes room, once', () => {
  const replays = addAll('default/greedy');
  for (const replay of replays) replay.end(false, null);
  replays[0]?.end(false, null);
  expect(forwarded.size).toBe(0);
  expect(addAll('default/greedy')).toHaveLength(replays.length);
});

test('all together are as many as the limit says', () => {
  for (let index = 0; index < MOST; index++) add(`default/client${index}`);
  expect(() => add('default/one.more')).toThrow(`(limit ${MOST})`);
});
