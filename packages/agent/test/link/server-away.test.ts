import { createPrivateKey } from 'node:crypto';
import { ManualClock, MusterError } from '@muster/base';
import { expect, it, onTestFinished } from 'vitest';
import { madeKey } from '../../../signing/test/support/made-keys.js';
import { NO_LEADER_RETRY_MS, RETRY_LONGEST_MS } from '../../src/limits.js';
import { Link } from '../../src/link/link.js';
import { Outbox } from '../../src/link/outbox.js';
import { silent } from '../support/agent.js';
import { FakeSockets } from '../support/fake-sockets.js';
import { unpinned } from '../support/unpinned.js';

const HOUR_MS = 3_600_000;
const STEP_MS = 100;
/** The server's default; the agent has not heard of another. */
const INTERVAL_MS = 15_000;

/** The times at which an agent that starts now, with this luck, asks a server that answers with `failure`. */
async function asksOver(ms: number, failure: MusterError, luck: number): Promise<number[]> {
  const clock = new ManualClock();
  const began = clock.now();
  const asked: number[] = [];
  const { privateKey } = madeKey(0);
  const link = new Link(
    {
      identity: { server: new URL('http://server'), org: 'o', name: 'n', key: createPrivateKey(privateKey), ca: null },
      ...{ incarnation: 'i', clock, logger: silent, random: () => luck, pin: await unpinned() },
      host: {
        sockets: new FakeSockets(),
        configuration: async () => {
          asked.push(clock.now() - began);
          throw failure;
        },
      },
    },
    new Outbox(
      () => ({ type: 'heartbeat', state: 'ready', jobId: null, last: null }),
      () => null,
    ),
    { connected() {}, heard() {}, message() {}, offline() {}, online() {}, tick() {} },
  );
  onTestFinished(() => link.close(0));
  link.reconfigure('starting');
  for (let passed = 0; passed < ms; passed += STEP_MS) {
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(STEP_MS);
  }
  return asked;
}

const longestPause = (times: readonly number[]) =>
  Math.max(...times.slice(1).map((time, index) => time - (times[index] ?? 0)));

it.each([0, 0.5, 1 - Number.EPSILON])(
  'a server that is away is asked again within an interval, however long it is away (luck %d)',
  async (luck) => {
    const away = new MusterError('server_unreachable', { url: 'http://server', reason: 'ECONNREFUSED' });
    const asked = await asksOver(HOUR_MS / 4, away, luck);
    expect(longestPause(asked)).toBeLessThanOrEqual(INTERVAL_MS + STEP_MS);
    // Not all at once, nor without a pause.
    expect(asked.length).toBeLessThan(HOUR_MS / 4 / (INTERVAL_MS / 2) + 10);
  },
);

it('a server of a cluster without a leader is asked every few seconds: another one takes over soon', async () => {
  const details = { status: 503, reason: 'no server of the cluster leads at the moment', code: 'no_leader' };
  const asked = await asksOver(HOUR_MS / 60, new MusterError('configuration_refused', details), 1 - Number.EPSILON);
  expect(longestPause(asked)).toBeLessThanOrEqual(NO_LEADER_RETRY_MS + STEP_MS);
});

it('a server that refuses is asked less and less often', async () => {
  const refusal = new MusterError('configuration_refused', { status: 403, reason: 'no' });
  expect(longestPause(await asksOver(HOUR_MS / 4, refusal, 1 - Number.EPSILON))).toBeGreaterThan(
    RETRY_LONGEST_MS - STEP_MS,
  );
});
