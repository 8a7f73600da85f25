import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@muster/base';
import { header } from '@muster/fabric';
import { startRelay } from '@muster/fabric/relay';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { sharedKey } from '../../platform/test/support/personas.js';
import { ORG, useEventServer } from './support/event-server.js';

/** Who is told of a job: whoever may read it, as far as its events say so. */

const events = useEventServer();
const { as, withGroup } = events;
const { privateKey } = sharedKey();
/** An end comes within a second, however busy the test's machine is. */
const SOON_MS = 1000;
const silent = { debug() {}, info() {}, warn() {}, error() {} };

beforeAll(async () => {
  const root = join(events.server.dataDir, 'work');
  mkdirSync(root, { recursive: true });
  await events.api.post(`${ORG}/systems/v2`, { name: 'here', type: 'local', root, default: true });
  const app = { name: 'say', version: '1.0', command: ['/bin/echo', 'hello'], parameters: [] };
  await events.api.post(`${ORG}/apps/v2`, app);
});

async function submit(user: string): Promise<string> {
  const api = user === 'admin' ? events.api : events.api.as({ name: user, privateKey });
  const { status, body, text } = await api.post(`${ORG}/jobs/v2`, { name: 'x', appId: 'say-1.0', archive: false });
  expect(status, text).toBe(201);
  return (body as { readonly result: { readonly id: string } }).result.id;
}

type Follower = Awaited<ReturnType<typeof as>>;
/** The jobs that were told of until all of these have finished. */
async function toldUntilFinished(
  follower: Follower,
  ...jobs: readonly string[]
): Promise<ReadonlySet<string | undefined>> {
  const told = new Set<string | undefined>();
  const running = new Set<string | undefined>(jobs);
  while (running.size > 0) {
    const event = await follower.event();
    told.add(header(event, 'job'));
    if (header(event, 'type') === 'job.finished') running.delete(header(event, 'job'));
  }
  return told;
}

describe('the events of a job', () => {
  it.each(["type LIKE 'job.%'", '', "type = 'job.accepted' OR type = 'job.finished'"])(
    'are told its owner, and nobody else but administrators: %s',
    async (selector) => {
      const [alice, bob, admin] = [await as('alice'), await as('bob'), await as('admin')];
      for (const follower of [alice, bob, admin]) await follower.subscribe(selector);
      const ofBob = await submit('bob');
      await toldUntilFinished(admin, ofBob);
      const ofAlice = await submit('alice');
      expect(await toldUntilFinished(alice, ofAlice)).toEqual(new Set([ofAlice]));
      expect(await toldUntilFinished(bob, ofBob)).toEqual(new Set([ofBob]));
      expect(await toldUntilFinished(admin, ofAlice)).toContain(ofAlice);
    },
  );

  it('are kept for its owner, and the same when they are replayed', async () => {
    const before = (await events.where()).position;
    const [ofBob, ofAlice] = [await submit('bob'), await submit('alice')];
    const admin = await as('admin');
    await admin.subscribe("type LIKE 'job.%'", [['from', String(before)]]);
    // Also of what no test after this one is to hear of.
    await toldUntilFinished(admin, ofAlice, ofBob);
    const [alice, durable] = [await as('alice'), await as('alice')];
    await alice.subscribe("type LIKE 'job.%'", [['from', String(before)]]);
    expect(await toldUntilFinished(alice, ofAlice)).toEqual(new Set([ofAlice]));
    const kept = [
      ['durable', 'mine'],
      ['ack', 'client'],
      ['from', String(before)],
    ] as const;
    await durable.subscribe(`job IN ('${ofBob}', '${ofAlice}')`, kept);
    expect(header(await durable.event(), 'job')).toBe(ofAlice);
  });

  it('are refused to whoever may not use jobs, and end within a second with that right', async () => {
    await withGroup('job_users', { users: ['alice', 'bob'] }, async () => {
      const [alice, bob] = [await as('alice'), await as('bob')];
      await alice.subscribe("type LIKE 'job.%'");
      await bob.subscribe("type LIKE 'job.%'");
      const at = performance.now();
      await events.api.put(`${ORG}/groups/job_users`, { users: ['bob'] });
      await alice.error();
      expect(performance.now() - at).toBeLessThan(SOON_MS);
      await expect((await as('alice')).subscribe("type LIKE 'job.%'")).rejects.toThrow(/job\.\*/);
      const ofBob = await submit('bob');
      expect(await toldUntilFinished(bob, ofBob)).toEqual(new Set([ofBob]));
    });
  });

  it('are told at a relay as at the server', async () => {
    await withGroup('event_relays', { clients: ['relay'] }, async () => {
      const { stomp: upstream } = await events.where();
      const passcode = () => events.signature('default/relay');
      const settings = { upstream, listen: ['127.0.0.1:0'], login: 'default/relay', passcode, retryMs: 50 };
      const relay = startRelay(settings, { clock: systemClock, log: silent, random: Math.random });
      onTestFinished(() => relay.stop());
      const [url] = await relay.serving;
      const alice = await events.connect('default/alice', await events.token('alice'), url);
      const admin = await events.connect('default/admin', await events.token('admin'), url);
      for (const follower of [alice, admin]) await follower.subscribe("type LIKE 'job.%'");
      const [ofBob, ofAlice] = [await submit('bob'), await submit('alice')];
      expect(await toldUntilFinished(alice, ofAlice)).toEqual(new Set([ofAlice]));
      expect(await toldUntilFinished(admin, ofBob)).toContain(ofBob);
    });
  });

  it('are for the holders of a restriction alone, where there is one', async () => {
    await events.api.put(`${ORG}/events/access/subscribe/job.failed`, { users: ['bob'] });
    await expect((await as('alice')).subscribe("type = 'job.failed'")).rejects.toThrow(/job\.failed/);
    await (await as('alice')).subscribe("type = 'job.finished'");
    await (await as('bob')).subscribe("type = 'job.failed'");
    await events.api.delete(`${ORG}/events/access/subscribe/job.failed`);
  });

  it('tell nothing of workers, queues and what blocks jobs, which stays with administrators', async () => {
    for (const type of ['job_worker.lost', 'job_queue.changed', 'job_recovery.changed', 'job_message.kept']) {
      await expect((await as('alice')).subscribe(`type = '${type}'`)).rejects.toThrow(type);
    }
  });

  it('start rules of its owner, and no other’s', async () => {
    const alice = events.api.as({ name: 'alice', privateKey });
    const job = { name: 'after-{job}', appId: 'say-1.0', archive: false };
    const rule = { name: 'r', on: "type = 'job.finished'", job };
    const made = await alice.post(`${ORG}/rules`, rule);
    expect(made.status, made.text).toBe(201);
    await submit('bob');
    const ofAlice = await submit('alice');
    const started = async () => {
      const { body } = await events.api.get(`${ORG}/rules/r/runs`);
      return (body as readonly { readonly outcome: string; readonly event: string }[]).map(({ outcome }) => outcome);
    };
    await expect.poll(started).toEqual(['started']);
    const { body } = await events.api.get(`${ORG}/jobs/v2?naked=true&owner=alice&name=after-${ofAlice}`);
    expect(body).toHaveLength(1);
  });
});
