import { type DropCause, dialects, LIMITS } from '@muster/wire';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { NODE_LIMITS } from '../src/limits.js';
import { type Fixture, ORG, startNodes, type TestAgent } from './support/nodes-fixture.js';

let fixture: Fixture;
let agent: TestAgent;

beforeEach(async () => {
  fixture = await startNodes();
  agent = await fixture.agent('web1');
});
afterEach(() => fixture.close());

const dropped = (cause: DropCause) => fixture.count('muster_messages_dropped_total', { cause });
const allDropped = () => fixture.count('muster_messages_dropped_total');
const stranger = Buffer.from('stranger');

describe('each cause of a drop is counted, and changes nothing (sheet §3.5)', () => {
  beforeEach(async () => {
    await agent.comeUp();
    fixture.listener.told.length = 0;
  });
  afterEach(() => {
    expect(fixture.listener.told.filter((what) => what !== 'web1 heartbeat null')).toEqual([]);
    agent.beat();
    expect(agent.view.heardAt).toBe(fixture.clock.now());
  });

  test('frames: not exactly three', async () => {
    fixture.transport.receive(agent.identity, agent.last[0]);
    fixture.transport.receive(agent.identity, ...agent.last, Buffer.from('more'));
    fixture.transport.receive();
    expect(await dropped('frames')).toBe(3);
  });

  test('header_too_big', async () => {
    fixture.transport.receive(agent.identity, Buffer.alloc(LIMITS.headerBytes + 1, 'x'), agent.last[1]);
    expect(await dropped('header_too_big')).toBe(1);
  });

  test('body_too_big', async () => {
    fixture.transport.receive(agent.identity, agent.last[0], Buffer.alloc(65_537, 'x'));
    expect(await dropped('body_too_big')).toBe(1);
  });

  test.each(['', 'Version:9.9', 'Version:1.0;Checksum:abcd', 'nonsense'])('bad_header: %j', async (header) => {
    fixture.transport.receive(agent.identity, Buffer.from(header), agent.last[1]);
    expect(await dropped('bad_header')).toBe(1);
  });

  test('parse_fail: not JSON, from a known connection and from a stranger', async () => {
    fixture.transport.receive(agent.identity, agent.last[0], Buffer.from('{'));
    fixture.transport.receive(stranger, agent.last[0], Buffer.from('{'));
    expect(await dropped('parse_fail')).toBe(2);
  });

  test('unknown_org and unknown_node', async () => {
    const body = (org: string, node: string) => Buffer.from(JSON.stringify({ org, node, type: 'heartbeat' }));
    fixture.transport.receive(stranger, agent.last[0], body('nowhere', 'web1'));
    fixture.transport.receive(stranger, agent.last[0], body(ORG.name, 'nobody'));
    expect(await dropped('unknown_org')).toBe(1);
    expect(await dropped('unknown_node')).toBe(1);
    expect(fixture.nodes.registry.list(ORG.id)).toHaveLength(1);
  });

  test('no_session: a known node that has not fetched its configuration from this server', async () => {
    fixture.nodes.nodeCreated(ORG, 'web2');
    const early = await fixture.agent('web2');
    early.beat();
    expect(await dropped('no_session')).toBe(1);
    expect(early.view.status).toBe('down');
  });

  test('bad_sig: another key, also from a stranger in its name', async () => {
    const thief = await fixture.agent('web1');
    thief.session.key.fill(7);
    thief.send({ type: 'started', jobId: 'j1' });
    expect(await dropped('bad_sig')).toBe(1);
    expect(agent.view.diagnostics.dropped).toMatchObject({ cause: 'bad_sig' });
  });

  test.each([-300_000, 300_000])('bad_timestamp: %i ms from now', async (offset) => {
    agent.send({ type: 'started', jobId: 'j1' }, fixture.clock.now() + offset);
    expect(await dropped('bad_timestamp')).toBe(1);
  });

  test('replayed: a message that was received before', async () => {
    agent.beat();
    fixture.transport.receive(agent.identity, ...agent.last);
    fixture.transport.receive(stranger, ...agent.last);
    expect(await dropped('replayed')).toBe(2);
  });

  test('unknown_node: signed by one node in the name of another', async () => {
    const about = { org: ORG.name, node: 'web2', incarnation: 'i', now: fixture.clock.now() };
    const frames = dialects.native.encodeAgent({ type: 'started', jobId: 'j1' }, about, agent.session);
    fixture.transport.receive(agent.identity, ...(frames ?? agent.last));
    expect(await dropped('unknown_node')).toBe(1);
  });
});

describe('one peer at line speed (rate_limited)', () => {
  const { workBurst, workPerSecond, workBytes } = NODE_LIMITS;
  /** Messages that cannot be told from a node's before they are verified, at one unit each. */
  const flood = (identity: Uint8Array, count: number) => {
    for (let i = 0; i < count; i++) fixture.transport.receive(identity, Buffer.from('x'), Buffer.from('{}'));
  };

  test('a node that floods is not read until time has passed, and others are not in its way', async () => {
    await agent.comeUp();
    fixture.nodes.nodeCreated(ORG, 'web2');
    const other = await fixture.agent('web2');
    other.configure();
    flood(agent.identity, workBurst + 100);
    expect(await dropped('rate_limited')).toBeGreaterThanOrEqual(100);
    agent.beat();
    expect(agent.view.diagnostics.dropped).toMatchObject({ cause: 'rate_limited' });
    other.beat();
    expect(other.view.heardAt).toBe(fixture.clock.now());
    fixture.clock.advance(10);
    agent.beat();
    expect(agent.view.heardAt).toBe(fixture.clock.now());
  });

  test('floods in a node’s name use up the budget of their own connection, not the node’s', async () => {
    await agent.comeUp();
    const body = Buffer.from(JSON.stringify({ org: ORG.name, node: 'web1', type: 'heartbeat' }));
    for (let i = 0; i < workBurst; i++) fixture.transport.receive(stranger, agent.last[0], body);
    expect(await dropped('rate_limited')).toBeGreaterThan(0);
    fixture.clock.advance(1);
    agent.beat();
    expect(agent.view.heardAt).toBe(fixture.clock.now());
  });

  test('a node has one budget, however many connections it opens', async () => {
    await agent.comeUp();
    flood(agent.identity, workBurst);
    agent.connect();
    const before = await dropped('rate_limited');
    agent.beat();
    expect((await dropped('rate_limited')) - before).toBe(1);
  });

  test('a long message costs as much as the short ones it could have been', async () => {
    await agent.comeUp();
    const body = Buffer.alloc(3 * workBytes, 'x');
    for (let i = 0; i < workBurst / 4; i++) fixture.transport.receive(agent.identity, Buffer.from('x'), body);
    expect(await dropped('rate_limited')).toBeGreaterThan(0);
  });

  test('a node that streams all the output it may keep is within its budget', async () => {
    await agent.comeUp();
    const chunk = {
      type: 'output',
      jobId: 'j',
      stream: 'stdout',
      data: Buffer.alloc(LIMITS.outputChunkBytes),
    } as const;
    for (let i = 0; i < 640; i++) agent.send({ ...chunk, offset: i * LIMITS.outputChunkBytes });
    expect(await dropped('rate_limited')).toBe(0);
    expect(workPerSecond).toBeLessThan(workBurst);
  });
});

test('drops are logged once a second per cause, with the number left out', async () => {
  await agent.comeUp();
  for (let i = 0; i < 100; i++) fixture.transport.receive(stranger, Buffer.from('nonsense'), Buffer.from('{}'));
  fixture.clock.advance(1000);
  fixture.transport.receive(stranger, Buffer.from('nonsense'), Buffer.from('{}'));
  const lines = fixture.logged.filter((line) => line.message.startsWith('dropped'));
  expect(lines.map((line) => line.details)).toMatchObject([{ cause: 'bad_header' }, { suppressed: 99 }]);
});

test('no bytes at all can throw out of the receive loop', async () => {
  await agent.comeUp();
  const bytes = fc.uint8Array({ maxLength: 200 });
  const header = fc.oneof(bytes, fc.constant(agent.last[0]));
  const body = fc.oneof(
    bytes,
    fc.json().map((text) => Buffer.from(text)),
    fc.constant(agent.last[1]),
  );
  const before = await allDropped();
  fc.assert(
    fc.property(fc.constantFrom(agent.identity, stranger), header, body, (identity, one, other) => {
      fixture.transport.receive(identity, one, other);
    }),
    { numRuns: 500 },
  );
  expect((await allDropped()) - before).toBe(500);
  expect(agent.view.status).toBe('up');
});

describe('sessions', () => {
  test('the old key stays valid until the first message under the new one', async () => {
    await agent.comeUp();
    const old = agent.session;
    agent.configure();
    const fresh = agent.session;
    agent.session = old;
    agent.beat();
    expect(await allDropped()).toBe(0);
    agent.session = fresh;
    agent.beat();
    expect(await allDropped()).toBe(0);
    agent.session = old;
    agent.beat();
    expect(await dropped('bad_sig')).toBe(1);
  });

  test('messages to the node use the new key from then on', async () => {
    await agent.comeUp();
    agent.configure();
    agent.beat();
    fixture.nodes.registry.send(ORG.id, ['web1'], { type: 'abort' });
    expect(agent.heard).toEqual(['abort']);
  });

  test('a node on a new connection is welcomed there, and nothing goes to the old one', async () => {
    await agent.comeUp();
    agent.connect();
    agent.beat();
    expect(agent.heard).toEqual(['welcome']);
    expect(agent.view.status).toBe('up');
  });

  test('a reader who asks for a node’s configuration gets a key that opens nothing, and leaves no trace', () => {
    const caller = { principalId: 'u', type: 'user', name: 'eve', serverAdmin: false, publicKey: null } as const;
    const request = { org: ORG, node: 'DONKEY', caller, curveKey: new Uint8Array(32), version: undefined };
    expect(fixture.nodes.configure(request)).toMatchObject({ type: 'config', node: 'DONKEY' });
    expect(fixture.nodes.registry.get(ORG.id, 'DONKEY')).toBeUndefined();
    expect(fixture.transport.handlers?.admits(new Uint8Array(32))).toBe(false);
  });
});

describe('CURVE admission (sheet §2.5)', () => {
  const key = Buffer.alloc(32, 'k');

  test('a key connects after its configuration request, for the admission time only', async () => {
    const admits = () => fixture.transport.handlers?.admits(key);
    expect(admits()).toBe(false);
    agent.configure(key);
    expect(admits()).toBe(true);
    fixture.clock.advance(60_000);
    expect(admits()).toBe(false);
    expect(await fixture.count('muster_zap_total', { result: 'admitted' })).toBe(1);
    expect(await fixture.count('muster_zap_total', { result: 'expired' })).toBe(1);
    expect(await fixture.count('muster_zap_total', { result: 'unknown' })).toBe(1);
    expect(agent.view.diagnostics.handshakesRefused).toBe(1);
  });

  test('a new key of the node replaces the old one', () => {
    agent.configure(key);
    agent.configure(Buffer.alloc(32, 'n'));
    expect(fixture.transport.handlers?.admits(key)).toBe(false);
  });
});
