import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type FeedEvent, openFeed, told } from './support/feed.js';
import { Fleet } from './support/fleet.js';
import { sharedKey } from './support/personas.js';
import { until } from './support/until.js';

/** Acceptance list, reference sheet §9.7: `/organizations/ORG/pushy/job_status_feed/ID`. */
let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.start({ 'push-linger': '1', 'push-keepalive': '1' });
});
afterEach(() => fleet.stopNodes());
afterAll(() => fleet.stop());

const feed = (id: string, lastEventId?: string) =>
  openFeed(fleet.api, `pushy/job_status_feed/${id}`, lastEventId === undefined ? {} : { lastEventId });

/** The checks that hold for every stream: ids and timestamps are there, unique, and times increase. */
function wellFormed(events: readonly FeedEvent[]): void {
  const times = events.map((event) => String(event.data.timestamp));
  expect(new Set(events.map((event) => event.id)).size).toBe(events.length);
  for (const time of times) expect(time).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}Z$/);
  expect(times).toEqual([...new Set(times)].sort());
}

/** Runs the job to its end and tells its events in short. */
async function events(job: Readonly<Record<string, unknown>>): Promise<string[]> {
  const all = await (await feed(await fleet.startJob({ run_timeout: 4, ...job }))).whole();
  wellFormed(all);
  expect(all[0]).toMatchObject({
    event: 'start',
    data: { command: job.command, run_timeout: job.run_timeout ?? 4, user: 'admin', capture: false },
  });
  return told(all);
}

const COMPLETE = 'job_complete(complete)';

test('SSE-1 the feed of an unknown job is not found', async () => {
  expect((await fleet.api.get(`pushy/job_status_feed/${'0'.repeat(32)}`, { accept: 'text/event-stream' })).status).toBe(
    404,
  );
});

test('SSE-2 POST on the feed is not allowed', async () => {
  expect((await fleet.api.post(`pushy/job_status_feed/${'0'.repeat(32)}`, {})).status).toBe(405);
});

test('SSE-3 a user that does not exist', async () => {
  const invalid = fleet.api.as({ name: 'invalid', privateKey: sharedKey().privateKey });
  expect((await invalid.get(`pushy/job_status_feed/${'0'.repeat(32)}`)).status).toBe(401);
});

test('SSE-4 one node that is not connected', async () => {
  expect(await events({ command: 'sleep 2', nodes: ['NOBODY'] })).toEqual([
    'start',
    'quorum_vote(NOBODY down)',
    'rehab(NOBODY)',
    'job_complete(quorum_failed)',
  ]);
});

test('SSE-5 a finished job, asked for as JSON', async () => {
  const id = await fleet.startJob({ command: 'sleep 2', nodes: ['NOBODY'] });
  await fleet.jobIs(id, 'quorum_failed');
  const reply = await fleet.api.get(`pushy/job_status_feed/${id}`, { accept: 'application/json' });
  expect(reply.status).toBe(406);
});

describe('one node', () => {
  test('SSE-6 the command succeeds', async () => {
    await fleet.node('DONKEY');
    expect(await events({ command: 'this_oughta_succeed', nodes: ['DONKEY'] })).toEqual([
      'start',
      'quorum_vote(DONKEY success)',
      'quorum_succeeded',
      'run_start(DONKEY)',
      'run_complete(DONKEY success)',
      COMPLETE,
    ]);
  });

  test('SSE-7 the command fails', async () => {
    await fleet.node('DONKEY');
    expect(await events({ command: 'this_oughta_fail', nodes: ['DONKEY'] })).toEqual([
      'start',
      'quorum_vote(DONKEY success)',
      'quorum_succeeded',
      'run_start(DONKEY)',
      'run_complete(DONKEY failure)',
      COMPLETE,
    ]);
  });

  test('SSE-8 the command is not in the whitelist', async () => {
    await fleet.node('DONKEY');
    expect(await events({ command: 'rm -rf /', nodes: ['DONKEY'] })).toEqual([
      'start',
      'quorum_vote(DONKEY failure)',
      'job_complete(quorum_failed)',
    ]);
  });

  test('SSE-9 the agent never answers commit', async () => {
    const donkey = await fleet.node('DONKEY');
    donkey.hooks.commit = () => false;
    expect(await events({ command: 'sleep 2', nodes: ['DONKEY'], voting_timeout: 1 })).toEqual([
      'start',
      'quorum_vote(DONKEY voting_timeout)',
      'job_complete(quorum_failed)',
    ]);
  });

  test('SSE-10 the agent answers run with nack_run', async () => {
    const donkey = await fleet.node('DONKEY');
    donkey.hooks.run = ({ job_id }) => {
      donkey.send('nack_run', { job_id });
      return false;
    };
    expect(await events({ command: 'sleep 2', nodes: ['DONKEY'] })).toEqual([
      'start',
      'quorum_vote(DONKEY success)',
      'quorum_succeeded',
      'rehab(DONKEY)',
      'run_complete(DONKEY run_nacked)',
      COMPLETE,
    ]);
  });

  test('SSE-11 the agent ignores run', async () => {
    const donkey = await fleet.node('DONKEY');
    donkey.hooks.run = () => false;
    expect(await events({ command: 'sleep 2', nodes: ['DONKEY'], run_timeout: 1 })).toEqual([
      'start',
      'quorum_vote(DONKEY success)',
      'quorum_succeeded',
      'job_complete(timed_out)',
    ]);
  });

  test('SSE-12 the agent sends ack_run, then nack_run', async () => {
    const donkey = await fleet.node('DONKEY');
    donkey.hooks.run = ({ job_id }) => {
      donkey.send('ack_run', { job_id });
      donkey.send('nack_run', { job_id });
      return false;
    };
    expect(await events({ command: 'sleep 2', nodes: ['DONKEY'] })).toEqual([
      'start',
      'quorum_vote(DONKEY success)',
      'quorum_succeeded',
      'run_start(DONKEY)',
      'rehab(DONKEY)',
      'run_complete(DONKEY run_nacked_while_running)',
      COMPLETE,
    ]);
  });
});

describe('two nodes', () => {
  const nodes = ['DONKEY', 'FIONA'];
  const both = async () => {
    await Promise.all(nodes.map((name) => fleet.node(name)));
  };

  test.each([
    ['SSE-13 both succeed', 'this_oughta_succeed', 'success', 'success'],
    ['SSE-14 both fail', 'this_oughta_fail', 'failure', 'failure'],
    ['SSE-15 DONKEY fails', 'fails on DONKEY', 'failure', 'success'],
  ])('%s', async (_, command, donkey, fiona) => {
    await both();
    const happened = await events({ command, nodes });
    expect([...happened].sort()).toEqual(
      [
        'start',
        'quorum_vote(DONKEY success)',
        'quorum_vote(FIONA success)',
        'quorum_succeeded',
        'run_start(DONKEY)',
        'run_start(FIONA)',
        `run_complete(DONKEY ${donkey})`,
        `run_complete(FIONA ${fiona})`,
        COMPLETE,
      ].sort(),
    );
    expect(happened.indexOf('quorum_succeeded')).toBe(3);
    expect(happened.at(-1)).toBe(COMPLETE);
  });

  test('SSE-16 DONKEY nacks, quorum 2', async () => {
    await fleet.node('DONKEY', { whitelist: [] });
    await fleet.node('FIONA');
    const happened = await events({ command: 'this_oughta_succeed', nodes, quorum: 2 });
    expect([...happened].sort()).toEqual([
      'job_complete(quorum_failed)',
      'quorum_vote(DONKEY failure)',
      'quorum_vote(FIONA success)',
      'start',
    ]);
    expect(happened.at(-1)).toBe('job_complete(quorum_failed)');
  });

  test('SSE-17 DONKEY nacks, quorum 1', async () => {
    await fleet.node('DONKEY', { whitelist: [] });
    await fleet.node('FIONA');
    const happened = await events({ command: 'this_oughta_succeed', nodes, quorum: 1 });
    expect(happened.slice(0, 3).sort()).toEqual(['quorum_vote(DONKEY failure)', 'quorum_vote(FIONA success)', 'start']);
    expect(happened.slice(3)).toEqual([
      'quorum_succeeded',
      'run_start(FIONA)',
      'run_complete(FIONA success)',
      COMPLETE,
    ]);
  });

  test('SSE-18 DONKEY sends ack_commit, then nack_run, while FIONA votes later', async () => {
    const donkey = await fleet.node('DONKEY');
    const fiona = await fleet.node('FIONA');
    fiona.hooks.commit = () => false;
    donkey.hooks.commit = (commit) => {
      donkey.comply(commit);
      donkey.send('nack_run', { job_id: commit.job_id });
      return false;
    };
    const id = await fleet.startJob({ command: 'sleep 2', nodes });
    const stream = await feed(id);
    await stream.first(3);
    fiona.comply(await fiona.waitFor('commit'));
    expect(told(await stream.whole())).toEqual([
      'start',
      'quorum_vote(DONKEY success)',
      'rehab(DONKEY)',
      'quorum_vote(FIONA success)',
      'job_complete(quorum_failed)',
    ]);
  });
});

describe('reading', () => {
  /** A job that runs until the test ends its command. */
  async function held(job: Readonly<Record<string, unknown>> = {}) {
    const donkey = await fleet.node('DONKEY');
    const id = await fleet.startJob({ command: 'held', nodes: ['DONKEY'], ...job });
    return { donkey, id, finish: () => donkey.command?.end(0) };
  }

  test('SSE-19 a finished job after its linger is one summary', async () => {
    await fleet.node('DONKEY');
    const id = await fleet.startJob({ command: 'this_oughta_succeed', nodes: ['DONKEY'], run_timeout: 4 });
    const all = await until('the linger to pass', async () => {
      const events = await (await feed(id)).whole();
      return events[0]?.event === 'summary' ? events : undefined;
    });
    expect(all).toHaveLength(1);
    const data = all[0]?.data ?? {};
    expect(data).toMatchObject({
      command: 'this_oughta_succeed',
      status: 'complete',
      run_timeout: 4,
      nodes: { succeeded: ['DONKEY'] },
      timestamp: expect.any(String),
    });
    expect(data.nodes).not.toHaveProperty('failed');
    expect(Date.parse(String(data.updated_at))).toBeGreaterThanOrEqual(Date.parse(String(data.created_at)));
  });

  test('SSE-20 a command with a letter beyond ASCII arrives intact', async () => {
    const { donkey, id, finish } = await held({ command: 'naïve' });
    await donkey.waitState('running');
    finish();
    const all = await (await feed(id)).whole();
    expect(all[0]?.data.command).toBe('naïve');
    expect(donkey.got('commit').at(-1)?.command).toBe('naïve');
    expect(all).toHaveLength(6);
  });

  test('SSE-21 a live stream shows what has happened, then the rest, then closes', async () => {
    const { id, finish } = await held();
    const stream = await feed(id);
    expect(stream.contentType).toMatch(/^text\/event-stream/);
    expect(told(await stream.first(4))).toEqual([
      'start',
      'quorum_vote(DONKEY success)',
      'quorum_succeeded',
      'run_start(DONKEY)',
    ]);
    expect(stream.ended).toBe(false);
    finish();
    expect(told((await stream.whole()).slice(4))).toEqual(['run_complete(DONKEY success)', COMPLETE]);
  });

  test('SSE-22 two live readers see the same', async () => {
    const { id, finish } = await held();
    const [one, other] = [await feed(id), await feed(id)];
    await one.first(4);
    finish();
    expect(await one.whole()).toEqual(await other.whole());
  });

  test('SSE-23 reading on after the last event seen', async () => {
    const { id, finish } = await held();
    const before = await feed(id);
    const seen = await before.first(4);
    before.close();
    finish();
    const rest = await (await feed(id, seen.at(-1)?.id)).whole();
    expect([...seen, ...rest]).toEqual(await (await feed(id)).whole());
    expect(rest).toHaveLength(2);
  });

  test('SSE-24 an unknown Last-Event-ID gives the full stream', async () => {
    const { id, donkey, finish } = await held();
    await donkey.waitState('running');
    finish();
    expect(await (await feed(id, 'nothing-like-it')).whole()).toHaveLength(6);
  });

  test('SSE-25 keepalives come between the events and change nothing', async () => {
    const { id, finish } = await held();
    const stream = await feed(id);
    await until('a keepalive', () => stream.comments.includes('keepalive'));
    finish();
    const all = await stream.whole();
    wellFormed(all);
    expect(all).toHaveLength(6);
  });

  test('SSE-26 the start event has the options, never the file', async () => {
    const { id, donkey, finish } = await held({
      user: 'daemon',
      dir: '/tmp',
      env: { E1: 'one' },
      file: 'raw:secret',
    });
    await donkey.waitState('running');
    finish();
    const [start] = await (await feed(id)).whole();
    expect(start?.data).toMatchObject({
      job_user: 'daemon',
      dir: '/tmp',
      env: { E1: 'one' },
      file_specified: true,
      capture: false,
      quorum: 1,
      node_count: 1,
    });
    expect(JSON.stringify(start)).not.toContain('secret');
  });
});

describe('the organization feed (sheet §7.10)', () => {
  test('tells start and job_complete of every job, and goes on after them', async () => {
    await fleet.node('DONKEY');
    const stream = await openFeed(fleet.api, 'pushy/job_status_feed');
    const first = await fleet.startJob({ command: 'this_oughta_succeed', nodes: ['DONKEY'] });
    await stream.first(2);
    const second = await fleet.startJob({ command: 'this_oughta_fail', nodes: ['NOBODY'] });
    const all = await stream.first(4);
    expect(all.map(({ event, data }) => [event, data.job])).toEqual([
      ['start', first],
      ['job_complete', first],
      ['start', second],
      ['job_complete', second],
    ]);
    wellFormed(all);
    expect(stream.ended).toBe(false);
    stream.close();
  });

  test('reads on after a known event, and from start_of_history after an unknown one', async () => {
    const stream = await openFeed(fleet.api, 'pushy/job_status_feed');
    await fleet.startJob({ command: 'x', nodes: ['NOBODY'] });
    const [start, end] = await stream.first(2);
    stream.close();
    const after = await openFeed(fleet.api, 'pushy/job_status_feed', { lastEventId: start?.id ?? '' });
    expect((await after.first(1))[0]).toEqual(end);
    after.close();
    const all = await openFeed(fleet.api, 'pushy/job_status_feed', { lastEventId: 'nothing-like-it' });
    expect((await all.first(1))[0]?.event).toBe('start_of_history');
    await until('the kept events', () => all.events.some((event) => event.id === end?.id));
    all.close();
  });
});
