import { beforeEach, describe, expect, it } from 'vitest';
import { MESSAGE_KEY, SIGNING_KEY } from '../../signing/test/vectors.js';
import { dialects } from '../src/dialects/index.js';
import type { Session } from '../src/dialects/types.js';
import { signRsaSha1 } from '../src/message-signing.js';
import type { ServerMessage } from '../src/messages/index.js';
import {
  dropCause,
  FINISHED,
  FROM_NODE,
  FROM_SERVER,
  header,
  json,
  LIMITS_NOW,
  PREPARE,
  sessionPair,
} from './sessions.js';

const { spec1 } = dialects;
let server: Session;
let agent: Session;

beforeEach(() => {
  ({ server, agent } = sessionPair());
});

const timestamp = 'Sat, 12 May 2012 20:33:15 GMT';
const common = { node: 'node123.foo.com', client: 'clientname', org: 'foo.com', timestamp };

function signed(body: unknown): [Uint8Array, Uint8Array] {
  const encoded = Buffer.from(JSON.stringify(body));
  return [Buffer.from(`Version:1.0;Checksum:${signRsaSha1(SIGNING_KEY, encoded)}`), encoded];
}

const open = (body: unknown) => spec1.openAgent(...signed(body), server, LIMITS_NOW).message;

describe('agent to server (Push Jobs §7.3, §7.4)', () => {
  it.each([
    [{ state: 'idle' }, { type: 'heartbeat', state: 'ready', jobId: null, last: null }],
    [
      { type: 'heartbeat', state: 'running', job_id: 'j' },
      { type: 'heartbeat', state: 'running', jobId: 'j', last: null },
    ],
    [{ type: 'ready' }, { type: 'ready', start: null }],
    [
      { type: 'ack', job_id: 'j' },
      { type: 'ack', jobId: 'j' },
    ],
    [
      { type: 'nack', job_id: 'j', reason: 'running', currently_executing: 'k' },
      { type: 'nack', jobId: 'j', reason: 'running', currentJobId: 'k' },
    ],
    [
      { type: 'started', job_id: 'j' },
      { type: 'started', jobId: 'j' },
    ],
    [{ type: 'finished', job_id: 'job1', state: 'OK' }, FINISHED],
    [
      { type: 'finished', job_id: 'job1', state: 'FAILED', reason: 'exit 1' },
      { ...FINISHED, outcome: 'failed', exitCode: null, reason: 'exit 1' },
    ],
    [
      { type: 'finished', job_id: 'j', state: 'ABORTED' },
      { type: 'aborted', jobId: 'j', from: 'running', settled: true },
    ],
    [{ type: 'aborted' }, { type: 'aborted', jobId: null, from: 'ready', settled: true }],
    [
      { type: 'aborted', job_id: 'j', from: 'terminating' },
      { type: 'aborted', jobId: 'j', from: 'terminating', settled: false },
    ],
    [
      { type: 'error', job_id: 'j' },
      { type: 'error', jobId: 'j', reason: 'the node cannot start the job' },
    ],
  ])('%j', (body, message) => {
    expect(open({ ...common, ...body })).toEqual(message);
  });

  it('ISO 8601 is read as well (§7.1.2)', () => {
    expect(open({ ...common, type: 'ready', timestamp: '2012-05-12T20:33:15Z' })).toEqual({
      type: 'ready',
      start: null,
    });
  });

  it.each([
    ['bad_timestamp', { timestamp: 'yesterday' }],
    ['bad_timestamp', { timestamp: 'Sat, 12 May 2012 20:23:15 GMT' }],
    ['unknown_type', { type: 'gossip' }],
    ['parse_fail', { type: 'finished', job_id: 'j', state: 'MAYBE' }],
    ['parse_fail', { type: 'heartbeat', state: 'bored' }],
    ['parse_fail', { type: 'ready', org: 5 }],
  ])('%s: %j', (cause, body) => {
    expect(dropCause(() => open({ ...common, ...body }))).toBe(cause);
  });

  it('the checksum must be the node’s own', () => {
    const encoded = Buffer.from(JSON.stringify({ ...common, type: 'ready' }));
    const forged = Buffer.from(`Version:1.0;Checksum:${signRsaSha1(MESSAGE_KEY, encoded)}`);
    expect(dropCause(() => spec1.openAgent(forged, encoded, server, LIMITS_NOW))).toBe('bad_sig');
    expect(dropCause(() => spec1.openAgent(Buffer.from('Version:1.0'), encoded, server, LIMITS_NOW))).toBe('bad_sig');
    expect(dropCause(() => spec1.openAgent(Buffer.from('Version:2.0'), encoded, server, LIMITS_NOW))).toBe(
      'bad_header',
    );
  });

  it('a session without RSA keys opens nothing', () => {
    const { rsa: _, ...bare } = server;
    expect(dropCause(() => spec1.openAgent(...signed({ ...common, type: 'ready' }), bare, LIMITS_NOW))).toBe(
      'no_session',
    );
  });
});

describe('server to agent (Push Jobs §7.4)', () => {
  const encode = (message: ServerMessage) => spec1.encodeServer(message, FROM_SERVER);

  it('prepare has server, job_id, type and command', () => {
    const frames = spec1.sealServer(encode(PREPARE) ?? Buffer.of(), server);
    expect(json(frames)).toEqual({
      server: 'push.example.com',
      job_id: 'job1',
      type: 'prepare',
      command: 'chef-client',
      timestamp,
    });
    expect(header(frames)).toMatch(/^Version:1\.0;Checksum:[A-Za-z0-9+/]{342}==$/);
  });

  it('a job with options is not offered: it would run without them', () => {
    expect(encode({ ...PREPARE, options: { user: 'nobody' } })).toBeNull();
  });

  it('welcome and output_stored have no form', () => {
    expect(encode({ type: 'welcome' })).toBeNull();
    expect(encode({ type: 'output_stored', jobId: 'j', stream: 'stdout', offset: 0 })).toBeNull();
  });

  it.each<ServerMessage>([PREPARE, { type: 'start', jobId: 'j' }, { type: 'abort' }, { type: 'reconfigure' }])(
    '%j arrives',
    (message) => {
      const frames = spec1.sealServer(encode(message) ?? Buffer.of(), server);
      expect(spec1.openServer(...frames, agent, LIMITS_NOW)).toEqual(message);
    },
  );
});

it('the agent half is read by the server half', () => {
  const through = (message: Parameters<typeof spec1.encodeAgent>[0]) => {
    const frames = spec1.encodeAgent(message, FROM_NODE, agent);
    return frames && spec1.openAgent(...frames, server, LIMITS_NOW);
  };
  expect(through({ type: 'heartbeat', state: 'ready', jobId: null, last: null })).toMatchObject({
    envelope: { org: 'acme', node: 'node1.example.com', incarnation: 'inc-1', sequence: null },
    message: { state: 'ready' },
  });
  expect(through({ ...FINISHED, outcome: 'timed_out' })?.message).toMatchObject({
    outcome: 'failed',
    reason: 'timed out',
  });
  expect(through({ type: 'crashed', jobId: 'j' })?.message).toMatchObject({ type: 'finished', outcome: 'failed' });
  expect(through({ type: 'facts', facts: {}, labels: {} })).toBeNull();
});
