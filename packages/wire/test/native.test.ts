import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { dialects } from '../src/dialects/index.js';
import type { Frames, Session } from '../src/dialects/types.js';
import { LIMITS } from '../src/limits.js';
import { signHmac } from '../src/message-signing.js';
import type { AgentMessage, ServerMessage } from '../src/messages/index.js';
import { dropCause, FROM_NODE, FROM_SERVER, header, json, LIMITS_NOW, NOW, PREPARE, sessionPair } from './sessions.js';

const { native } = dialects;
let server: Session;
let agent: Session;

beforeEach(() => {
  ({ server, agent } = sessionPair());
});

const bytes = (value: Uint8Array): Uint8Array => Buffer.from(value);
const jobId = fc.string({ minLength: 1, maxLength: 16, unit: 'grapheme' }).filter((id) => Buffer.byteLength(id) <= 64);
const maybeJobId = fc.option(jobId);
const state = fc.constantFrom('ready' as const, 'waiting' as const, 'running' as const, 'terminating' as const);
const stream = fc.constantFrom('stdout' as const, 'stderr' as const);
const reason = fc.string({ unit: 'grapheme', maxLength: 80 });
const data = fc.uint8Array({ maxLength: 512 }).map(bytes);
const text = fc.string({ unit: 'grapheme' });
const result = fc.record({
  jobId,
  outcome: fc.constantFrom('succeeded' as const, 'failed' as const, 'timed_out' as const),
  exitCode: fc.option(fc.nat(255)),
  signal: fc.option(fc.constantFrom('SIGKILL', 'SIGTERM')),
  reason: fc.option(reason),
});
const factName = fc.string({ minLength: 1, maxLength: 40 });
const facts = fc.dictionary(factName, fc.oneof(text, fc.integer(), fc.boolean()), {
  maxKeys: 8,
  noNullPrototype: true,
});
const message = <T extends AgentMessage['type'] | ServerMessage['type']>(type: T) => fc.constant(type);

const anyAgentMessage: fc.Arbitrary<AgentMessage> = fc.oneof(
  fc.record({ type: message('heartbeat'), state, jobId: maybeJobId, last: fc.option(result) }),
  fc.record({ type: message('ready'), start: fc.constantFrom('clean', 'crash', 'first', null) }),
  fc.record({ type: fc.constantFrom('ack' as const, 'started' as const, 'crashed' as const), jobId: maybeJobId }),
  fc.record({ type: message('nack'), jobId: maybeJobId, reason, currentJobId: maybeJobId }),
  fc
    .record({
      result,
      output: fc.option(fc.record({ stdout: data, stderr: data })),
      bytes: fc.option(fc.record({ stdout: fc.nat(), stderr: fc.nat() })),
    })
    .map(({ result, ...rest }) => ({ type: 'finished' as const, ...result, ...rest })),
  fc.record({ type: message('aborted'), jobId: maybeJobId, from: state, settled: fc.boolean() }),
  fc.record({ type: message('error'), jobId: maybeJobId, reason }),
  fc.record({ type: message('output'), jobId, stream, offset: fc.nat(), data }),
  fc.record({ type: message('facts'), facts, labels: facts }),
  fc.record({
    type: message('commands'),
    commands: fc.option(
      fc.record({
        list: fc.array(fc.record({ name: factName, pattern: fc.option(factName) }), { maxLength: 8 }),
        omitted: fc.nat(),
        any: fc.boolean(),
        scripts: fc.constantFrom('any' as const, 'signed' as const, 'none' as const),
        uploads: fc.boolean(),
        fetches: fc.boolean(),
      }),
    ),
  }),
  fc.record({ type: message('stopping') }),
);

const options = fc.record(
  {
    user: text,
    dir: text,
    file: text,
    env: fc.dictionary(text, text, { maxKeys: 5, noNullPrototype: true }),
    words: fc.array(text, { maxLength: 5 }),
    secrets: fc.dictionary(
      fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,9}$/),
      fc.stringMatching(/^([A-Z_]{1,9})?$/),
      {
        maxKeys: 5,
        noNullPrototype: true,
      },
    ),
    secretFile: fc.array(fc.stringMatching(/^[a-z][a-z0-9_]{0,9}$/), { maxLength: 5 }),
  },
  { requiredKeys: [] },
);

const anyServerMessage: fc.Arbitrary<ServerMessage> = fc.oneof(
  fc.record(
    {
      type: message('prepare'),
      jobId,
      command: text,
      capture: fc.boolean(),
      options,
      timeoutSeconds: fc.nat(),
      waitSeconds: fc.nat(),
    },
    { requiredKeys: ['type', 'jobId', 'command', 'capture', 'options'] },
  ),
  fc.record({ type: message('start'), jobId }),
  fc.record({ type: message('output_stored'), jobId, stream, offset: fc.nat() }),
  fc.record({ type: fc.constantFrom('abort' as const, 'welcome' as const, 'reconfigure' as const) }),
  fc.record({
    type: message('system_open'),
    session: fc.stringMatching(/^[0-9a-f]{32}$/),
    system: fc.string({ minLength: 1, maxLength: 64 }),
    root: fc.string({ minLength: 1, maxLength: 1000 }),
  }),
);

describe('round trips', () => {
  it('every agent message arrives as it was sent', () => {
    fc.assert(
      fc.property(anyAgentMessage, (sent) => {
        const [head, body] = native.encodeAgent(sent, FROM_NODE, agent) ?? [];
        const opened = native.openAgent(head ?? Buffer.of(), body ?? Buffer.of(), server, LIMITS_NOW);
        expect(opened.message).toEqual(sent);
        expect(opened.envelope).toEqual({
          org: 'acme',
          node: 'node1.example.com',
          incarnation: 'inc-1',
          timestamp: NOW,
          sequence: agent.sent,
        });
      }),
    );
  });

  it('every server message arrives as it was sent', () => {
    fc.assert(
      fc.property(anyServerMessage, (sent) => {
        const body = native.encodeServer(sent, FROM_SERVER) ?? Buffer.of();
        const [head, sealed] = native.sealServer(body, server);
        expect(native.openServer(head, sealed, agent, LIMITS_NOW)).toEqual(sent);
      }),
    );
  });

  it('an environment variable called __proto__ is one like any other', () => {
    const env = Object.fromEntries([['__proto__', 'x']]);
    const body = native.encodeServer({ ...PREPARE, options: { env } }, FROM_SERVER) ?? Buffer.of();
    const opened = native.openServer(...native.sealServer(body, server), agent, LIMITS_NOW);
    expect(opened).toMatchObject({ options: { env } });
    expect(Object.keys(opened.type === 'prepare' ? (opened.options.env ?? {}) : {})).toEqual(['__proto__']);
  });
});

const ready: AgentMessage = { type: 'ready', start: 'first' };
const sendReady = (): Frames => native.encodeAgent(ready, FROM_NODE, agent) ?? [Buffer.of(), Buffer.of()];
const receive = (head: Uint8Array, body: Uint8Array, now = NOW) =>
  dropCause(() => native.openAgent(head, body, server, { ...LIMITS_NOW, now }));

it('one encoded body serves many nodes, each with its own sequence', () => {
  const body = native.encodeServer({ type: 'abort' }, FROM_SERVER) ?? Buffer.of();
  const other = sessionPair().server;
  other.sent = 7;
  const frames = [native.sealServer(body, server), native.sealServer(body, other)];
  expect(frames.map(header)).toEqual([
    expect.stringMatching(/^Version:3\.0;SigningMethod:hmac_sha256;Sequence:1;Signature:[\w+/]{43}=$/),
    expect.stringMatching(/;Sequence:8;/),
  ]);
  expect(frames[0]?.[1]).toBe(frames[1]?.[1]);
});

it('the HMAC covers the sequence and the body', () => {
  const [head, body] = sendReady();
  const signature = signHmac(agent.key, '1\n', body);
  expect(header([head, body])).toBe(`Version:3.0;SigningMethod:hmac_sha256;Sequence:1;Signature:${signature}`);
});

it('times are ISO 8601 with milliseconds', () => {
  expect(json(sendReady())).toEqual({
    type: 'ready',
    start: 'first',
    org: 'acme',
    node: 'node1.example.com',
    incarnation: 'inc-1',
    timestamp: '2012-05-12T20:33:15.000Z',
  });
});

describe('replay', () => {
  it('a message is accepted once', () => {
    const frames = sendReady();
    expect([receive(...frames), receive(...frames)]).toEqual(['accepted', 'replayed']);
  });

  it('a message that was overtaken is dropped', () => {
    const first = sendReady();
    const second = sendReady();
    expect([receive(...second), receive(...first)]).toEqual(['accepted', 'replayed']);
  });

  it('gaps are allowed: messages to a dead peer are dropped, not kept', () => {
    sendReady();
    sendReady();
    expect(receive(...sendReady())).toBe('accepted');
  });

  it('a sequence cannot be raised without the key', () => {
    const [head, body] = sendReady();
    expect(receive(head, body)).toBe('accepted');
    expect(receive(Buffer.from(header([head, body]).replace('Sequence:1;', 'Sequence:2;')), body)).toBe('bad_sig');
  });

  it('a dropped message leaves the session as it was', () => {
    const [head, body] = sendReady();
    receive(head, Buffer.concat([body, Buffer.from(' ')]));
    receive(head, body, NOW + 300_000);
    expect(server.received).toBe(0);
    expect(receive(head, body)).toBe('accepted');
    expect(server.received).toBe(1);
  });

  it('the server’s messages cannot be replayed to a node either', () => {
    const body = native.encodeServer({ type: 'start', jobId: 'j' }, FROM_SERVER) ?? Buffer.of();
    const frames = native.sealServer(body, server);
    const open = () => dropCause(() => native.openServer(...frames, agent, LIMITS_NOW));
    expect([open(), open()]).toEqual(['accepted', 'replayed']);
  });

  it('a message sent back to its sender is dropped, though the key is the same', () => {
    const body = native.encodeServer({ type: 'abort' }, FROM_SERVER) ?? Buffer.of();
    expect(receive(...native.sealServer(body, server))).toBe('unknown_type');
    expect(server.received).toBe(0);
  });
});

describe('skew', () => {
  it.each([
    [299_999, 'accepted'],
    [300_000, 'bad_timestamp'],
    [-299_999, 'accepted'],
    [-300_000, 'bad_timestamp'],
  ])('a clock %i ms off is %s, at the server', (offset, cause) => {
    expect(receive(...sendReady(), NOW + offset)).toBe(cause);
  });

  it.each([300_000, -300_000])('a clock %i ms off is bad_timestamp, at the agent', (offset) => {
    const frames = native.sealServer(native.encodeServer({ type: 'abort' }, FROM_SERVER) ?? Buffer.of(), server);
    const limits = { ...LIMITS_NOW, now: NOW + offset };
    expect(dropCause(() => native.openServer(...frames, agent, limits))).toBe('bad_timestamp');
  });
});

/** Any body, correctly sealed by the node. */
function sealed(body: unknown): [Uint8Array, Uint8Array] {
  const encoded = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const [head] = native.sealServer(encoded, agent);
  return [head, encoded];
}

const good = {
  type: 'ready',
  start: null,
  org: 'acme',
  node: 'n',
  incarnation: null,
  timestamp: new Date(NOW).toISOString(),
};

it('a body of other make with the same fields is read', () => {
  expect(receive(...sealed(good))).toBe('accepted');
  expect(receive(...sealed({ ...good, more: [{}] }))).toBe('accepted');
});

describe('order of checks (sheet §3.5)', () => {
  it.each([
    ['bad_header', 'Version:2.0', '{'],
    ['bad_header', 'Version:3.0;Signature:x', '{'],
    ['parse_fail', 'Version:3.0;Sequence:1', '{'],
    ['parse_fail', 'Version:3.0;Sequence:1', ''],
    ['parse_fail', 'Version:3.0;Sequence:1', '[]'],
    ['bad_sig', 'Version:3.0;Sequence:1', '{}'],
    ['bad_sig', 'Version:3.0;SigningMethod:rsa2048_sha1;Sequence:1;Signature:x', '{}'],
  ])('%s: %s with %s', (cause, head, body) => {
    expect(receive(Buffer.from(head), Buffer.from(body))).toBe(cause);
  });

  it('a body that is not UTF-8 is parse_fail', () => {
    expect(receive(Buffer.from('Version:3.0;Sequence:1'), Buffer.from([0x7b, 0xff, 0x7d]))).toBe('parse_fail');
  });

  it.each([
    ['bad_timestamp', { ...good, timestamp: undefined }],
    ['bad_timestamp', { ...good, timestamp: NOW }],
    ['bad_timestamp', { ...good, timestamp: 'Sat, 12 May 2012 20:33:15 GMT' }],
    ['bad_timestamp', { ...good, timestamp: '2012-05-12' }],
    ['unknown_type', { ...good, type: 'gossip' }],
    ['unknown_type', { ...good, type: undefined }],
    ['unknown_type', { ...good, type: 'prepare' }],
    ['parse_fail', { ...good, org: undefined }],
    ['parse_fail', { ...good, node: '' }],
    ['parse_fail', { ...good, node: 'n'.repeat(LIMITS.nameBytes + 1) }],
    ['parse_fail', { ...good, incarnation: 1 }],
    ['parse_fail', { ...good, start: 'soon' }],
    ['parse_fail', { ...good, type: 'ack', job_id: 'j'.repeat(65) }],
    ['parse_fail', { ...good, type: 'ack', job_id: '' }],
    ['parse_fail', { ...good, type: 'ack', job_id: 7 }],
    ['parse_fail', { ...good, type: 'heartbeat', state: 'idle', job_id: null }],
    ['parse_fail', { ...good, type: 'nack', job_id: null, current_job_id: null }],
    ['parse_fail', { ...good, type: 'output', job_id: 'j', stream: 'stdin', offset: 0, data: '' }],
    ['parse_fail', { ...good, type: 'output', job_id: 'j', stream: 'stdout', offset: -1, data: '' }],
    ['parse_fail', { ...good, type: 'output', job_id: 'j', stream: 'stdout', offset: 0, data: 'a' }],
    ['parse_fail', { ...good, type: 'facts', facts: { a: {} }, labels: {} }],
    ['parse_fail', { ...good, type: 'facts', facts: [], labels: {} }],
    ['parse_fail', { ...good, type: 'facts', facts: { a: 'x'.repeat(LIMITS.factBytes + 1) }, labels: {} }],
  ])('%s: %j', (cause, body) => {
    expect(receive(...sealed(body))).toBe(cause);
    expect(server.received).toBe(0);
  });
});

it.each(['1e999', '-1e999'])('a fact of %s is parse_fail: it is no number that could be kept', (infinite) => {
  const text = JSON.stringify({ ...good, type: 'facts', facts: { load: 0 }, labels: {} });
  expect(receive(...sealed(text.replace('"load":0', `"load":${infinite}`)))).toBe('parse_fail');
});

describe('limits', () => {
  const output = (length: number) => ({
    ...good,
    type: 'output',
    job_id: 'j'.repeat(64),
    stream: 'stdout',
    offset: 0,
    data: Buffer.alloc(length).toString('base64'),
  });

  it('an output chunk may have 32 KiB, not a byte more', () => {
    expect(receive(...sealed(output(LIMITS.outputChunkBytes)))).toBe('accepted');
    expect(receive(...sealed(output(LIMITS.outputChunkBytes + 1)))).toBe('parse_fail');
  });

  it('the largest output chunk fits the body limit', () => {
    expect(sealed(output(LIMITS.outputChunkBytes))[1].length).toBeLessThan(LIMITS.bodyBytes);
  });

  it('as many allowed commands as an agent tells are read, one more is not', () => {
    const told = { omitted: 0, any: false, scripts: 'none', uploads: false, fetches: false };
    const body = (n: number, name = 'c') => ({
      ...good,
      type: 'commands',
      commands: { ...told, list: Array.from({ length: n }, () => ({ name, pattern: null })) },
    });
    expect(receive(...sealed(body(LIMITS.commands)))).toBe('accepted');
    expect(receive(...sealed(body(LIMITS.commands + 1)))).toBe('parse_fail');
    expect(receive(...sealed(body(1, 'x'.repeat(LIMITS.commandNameBytes + 1))))).toBe('parse_fail');
  });

  it('256 facts are read, 257 are not', () => {
    const facts = (n: number) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`f${i}`, i]));
    const body = (n: number) => ({ ...good, type: 'facts', facts: facts(n), labels: {} });
    expect(receive(...sealed(body(LIMITS.facts)))).toBe('accepted');
    expect(receive(...sealed(body(LIMITS.facts + 1)))).toBe('parse_fail');
  });

  it('a long reason is cut between characters, by the sender and by the receiver', () => {
    const long = `a${'é'.repeat(2000)}`;
    const [head, body] = native.encodeAgent({ type: 'error', jobId: null, reason: long }, FROM_NODE, agent) ?? [];
    expect(String(json([head ?? Buffer.of(), body ?? Buffer.of()]).reason)).toBe(`a${'é'.repeat(511)}`);
    const opened = native.openAgent(
      ...sealed({ ...good, type: 'error', job_id: null, reason: long }),
      server,
      LIMITS_NOW,
    );
    expect(opened.message).toEqual({ type: 'error', jobId: null, reason: `a${'é'.repeat(511)}` });
  });
});
