import { beforeEach, describe, expect, it } from 'vitest';
import { checkSizes } from '../src/dialects/checks.js';
import { dialects } from '../src/dialects/index.js';
import type { Session } from '../src/dialects/types.js';
import { LIMITS } from '../src/limits.js';
import { signHmac } from '../src/message-signing.js';
import type { AgentMessage } from '../src/messages/index.js';
import {
  dropCause,
  FINISHED,
  FROM_NODE,
  FROM_SERVER,
  header,
  json,
  LIMITS_NOW,
  NOW,
  PREPARE,
  sessionPair,
} from './sessions.js';

const { chef2 } = dialects;
let server: Session;
let agent: Session;

beforeEach(() => {
  ({ server, agent } = sessionPair());
});

const timestamp = 'Sat, 12 May 2012 20:33:15 GMT';
const common = {
  node: 'node1.example.com',
  client: 'node1',
  protocol_version: '2.0',
  org: 'acme',
  sequence: 1,
  timestamp,
  incarnation_id: 'inc-1',
  job_id: null,
};

/** Any body as a deployed client signs it. */
function signed(body: unknown): [Uint8Array, Uint8Array] {
  const encoded = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return [Buffer.from(`Version:2.0;SigningMethod:hmac_sha256;Signature:${signHmac(agent.key, encoded)}`), encoded];
}

const open = (body: unknown) => chef2.openAgent(...signed(body), server, LIMITS_NOW);
const cause = (body: unknown) => dropCause(() => open(body));

describe('server to agent (sheet §4.2)', () => {
  const sent = (message: Parameters<typeof chef2.encodeServer>[0]) => {
    const body = chef2.encodeServer(message, FROM_SERVER);
    return body && json(chef2.sealServer(body, server));
  };

  it('prepare is commit, with capture always and options only when present', () => {
    expect(sent(PREPARE)).toEqual({
      type: 'commit',
      job_id: 'job1',
      server: 'push.example.com',
      command: 'chef-client',
      capture: false,
      timestamp,
      sequence: 1,
    });
    const options = { user: 'u', dir: '/d', env: { A: 'b' }, file: 'raw:x' };
    expect(sent({ ...PREPARE, capture: true, options, timeoutSeconds: 5, waitSeconds: 6 })).toEqual({
      type: 'commit',
      job_id: 'job1',
      server: 'push.example.com',
      command: 'chef-client',
      capture: true,
      ...options,
      timestamp,
      sequence: 2,
    });
  });

  it('start is run, abort has no job id, welcome is ack', () => {
    expect(sent({ type: 'start', jobId: 'job1' })).toEqual({ type: 'run', job_id: 'job1', timestamp, sequence: 1 });
    expect(sent({ type: 'abort' })).toEqual({ type: 'abort', timestamp, sequence: 2 });
    expect(sent({ type: 'welcome' })).toEqual({ type: 'ack', timestamp, sequence: 3 });
  });

  it('output_stored, reconfigure and system_open have no form', () => {
    expect(sent({ type: 'system_open', session: '0'.repeat(32), system: 'lab', root: '/scratch' })).toBeNull();
    expect(sent({ type: 'output_stored', jobId: 'j', stream: 'stdout', offset: 1 })).toBeNull();
    expect(sent({ type: 'reconfigure' })).toBeNull();
  });

  it('the HMAC covers the body exactly as sent', () => {
    const frames = chef2.sealServer(chef2.encodeServer({ type: 'abort' }, FROM_SERVER) ?? Buffer.of(), server);
    const signature = signHmac(server.key, frames[1]);
    expect(header(frames)).toBe(`Version:2.0;SigningMethod:hmac_sha256;Signature:${signature}`);
  });

  it('prepare and start must not be repeated', () => {
    expect(chef2.repeatable).toBe(false);
  });
});

describe('agent to server (sheet §4.3)', () => {
  it.each([
    ['idle', 'ready'],
    ['committed', 'waiting'],
    ['running', 'running'],
  ])('heartbeat in job_state %s is %s', (jobState, state) => {
    expect(open({ ...common, type: 'heartbeat', job_state: jobState, job_id: 'j' })).toEqual({
      envelope: { org: 'acme', node: 'node1.example.com', incarnation: 'inc-1', timestamp: NOW, sequence: 1 },
      message: { type: 'heartbeat', state, jobId: 'j', last: null },
    });
  });

  it.each([
    [{ type: 'ack_commit' }, { type: 'ack', jobId: 'j' }],
    [{ type: 'nack_commit' }, { type: 'nack', jobId: 'j', reason: 'refused by the node', currentJobId: null }],
    [{ type: 'ack_run' }, { type: 'started', jobId: 'j' }],
    [{ type: 'nack_run' }, { type: 'error', jobId: 'j', reason: 'the node cannot start the job' }],
    [{ type: 'aborted' }, { type: 'aborted', jobId: 'j', from: 'running', settled: true }],
    [
      { type: 'aborted', job_id: null },
      { type: 'aborted', jobId: null, from: 'ready', settled: true },
    ],
  ])('%j', (body, message) => {
    expect(open({ ...common, job_id: 'j', ...body }).message).toEqual(message);
  });

  it.each([
    ['succeeded', 'succeeded', 0],
    ['failed', 'failed', null],
  ])('%s without output', (type, outcome, exitCode) => {
    expect(open({ ...common, type, job_id: 'j' }).message).toEqual({ ...FINISHED, jobId: 'j', outcome, exitCode });
  });

  it('output counts when stdout and stderr are both there, empty ones too', () => {
    expect(open({ ...common, type: 'succeeded', job_id: 'j', stdout: 'é', stderr: '' }).message).toMatchObject({
      output: { stdout: Buffer.from('é'), stderr: Buffer.of() },
      bytes: { stdout: 2, stderr: 0 },
    });
    expect(open({ ...common, type: 'succeeded', job_id: 'j', stdout: 'x' }).message).toMatchObject({ output: null });
  });

  it.each([
    [null, null],
    ['null', null],
    ['j'.repeat(64), 'j'.repeat(64)],
    ['j'.repeat(65), ''],
    [7, ''],
    [{}, ''],
    [undefined, ''],
  ])('the job id %j is read as %j (sheet §4.1)', (given, read) => {
    expect(open({ ...common, type: 'ack_commit', job_id: given }).message).toEqual({ type: 'ack', jobId: read });
  });

  it('an absent incarnation is null', () => {
    expect(open({ ...common, type: 'ack_commit', incarnation_id: undefined }).envelope.incarnation).toBeNull();
  });

  it('sequences are not checked: an agent counts from 1 again on each connection', () => {
    const body = { ...common, type: 'ack_commit' };
    expect([cause(body), cause(body)]).toEqual(['accepted', 'accepted']);
  });
});

describe('what is dropped (sheet §3.5, §3.9)', () => {
  const body = { ...common, type: 'ack_commit' };

  it.each(['', 'garbage', 'Version:3.0;Sequence:1'])('bad_header: %j', (head) => {
    expect(dropCause(() => chef2.openAgent(Buffer.from(head), signed(body)[1], server, LIMITS_NOW))).toBe('bad_header');
  });

  it('an unknown clause more is accepted', () => {
    const [head, encoded] = signed(body);
    const more = Buffer.concat([head, Buffer.from(';More:x')]);
    expect(dropCause(() => chef2.openAgent(more, encoded, server, LIMITS_NOW))).toBe('accepted');
  });

  it.each(['', '{', 'null', '"text"'])('parse_fail: %j', (text) => {
    expect(cause(text)).toBe('parse_fail');
  });

  it.each([
    'Version:1.0;SigningMethod:hmac_sha256',
    'Version:2.0;SigningMethod:md5',
    'Version:2.0',
    'Version:2.0;SigningMethod:rsa2048_sha1',
  ])('bad_sig: %s with the right HMAC', (start) => {
    const [, encoded] = signed(body);
    const head = Buffer.from(`${start};Signature:${signHmac(agent.key, encoded)}`);
    expect(dropCause(() => chef2.openAgent(head, encoded, server, LIMITS_NOW))).toBe('bad_sig');
  });

  it('bad_sig: other valid JSON under the old signature', () => {
    const [head] = signed(body);
    expect(dropCause(() => chef2.openAgent(head, Buffer.from('{}'), server, LIMITS_NOW))).toBe('bad_sig');
  });

  it.each([
    undefined,
    'garbage',
    '2012-05-12T20:33:15Z',
    'Sat, 31 Feb 2012 20:33:15 GMT',
    7,
    'Sat, 12 May 2012 24:00:00 GMT',
  ])('bad_timestamp: %j', (given) => {
    expect(cause({ ...body, timestamp: given })).toBe('bad_timestamp');
  });

  it.each([
    ['Sat, 12 May 2012 20:33:15 GMT'],
    ['Saturday, 12-May-12 20:33:15 GMT'],
    ['Sat May 12 20:33:15 2012'],
    ['Sat, 12 May 2012 20:33:15 CET'],
    ['Sat, 12 May 2012 20:34:55 GMT'],
    ['Sat, 12 May 2012 20:31:35 GMT'],
  ])('%s is a good timestamp', (given) => {
    expect(cause({ ...body, timestamp: given })).toBe('accepted');
  });

  it('300 s is too much, a second less is not', () => {
    const at = (now: number) => dropCause(() => chef2.openAgent(...signed(body), server, { ...LIMITS_NOW, now }));
    expect([at(NOW + 299_000), at(NOW + 300_000), at(NOW - 299_000), at(NOW - 300_000)]).toEqual([
      'accepted',
      'bad_timestamp',
      'accepted',
      'bad_timestamp',
    ]);
  });

  it.each(['ready', 'commit', undefined, 5])('unknown_type: %j', (type) => {
    expect(cause({ ...body, type })).toBe('unknown_type');
  });

  it('parse_fail: a heartbeat in no known state', () => {
    expect(cause({ ...body, type: 'heartbeat', job_state: 'ready' })).toBe('parse_fail');
  });
});

it('header and body are bounded before anything is read', () => {
  const at = (header: number, body: number) => dropCause(() => checkSizes(Buffer.alloc(header), Buffer.alloc(body)));
  expect(at(2048, 65_536)).toBe('accepted');
  expect(at(2049, 65_537)).toBe('header_too_big');
  expect(at(2048, 65_537)).toBe('body_too_big');
  expect(dropCause(() => checkSizes(Buffer.of(), Buffer.alloc(11), 10))).toBe('body_too_big');
  expect(LIMITS.headerBytes).toBe(2048);
});

describe('the agent half, for test clients', () => {
  const through = (message: AgentMessage) => {
    const frames = chef2.encodeAgent(message, FROM_NODE, agent);
    return frames && chef2.openAgent(...frames, server, LIMITS_NOW).message;
  };

  it('messages of both vocabularies arrive', () => {
    const heartbeat: AgentMessage = { type: 'heartbeat', state: 'waiting', jobId: 'j', last: null };
    expect(through(heartbeat)).toEqual(heartbeat);
    expect(through({ type: 'ack', jobId: null })).toEqual({ type: 'ack', jobId: null });
    expect(through({ ...FINISHED, outcome: 'timed_out' })).toMatchObject({ outcome: 'failed' });
    const output = { stdout: Buffer.from('o'), stderr: Buffer.from('e') };
    expect(through({ ...FINISHED, output })).toEqual({ ...FINISHED, output, bytes: { stdout: 1, stderr: 1 } });
  });

  it('job_id is always present, null when there is none', () => {
    expect(json(chef2.encodeAgent({ type: 'ack', jobId: null }, FROM_NODE, agent))).toHaveProperty('job_id', null);
  });

  it('ready, crashed, output and facts have no form', () => {
    expect(through({ type: 'ready', start: null })).toBeNull();
    expect(through({ type: 'crashed', jobId: null })).toBeNull();
    expect(through({ type: 'facts', facts: {}, labels: {} })).toBeNull();
    expect(through({ type: 'commands', commands: null })).toBeNull();
    expect(agent.sent).toBe(0);
  });

  it('a commit comes back as prepare', () => {
    const message = { ...PREPARE, options: { env: { A: 'b' } } };
    const frames = chef2.sealServer(chef2.encodeServer(message, FROM_SERVER) ?? Buffer.of(), server);
    expect(chef2.openServer(...frames, agent, LIMITS_NOW)).toEqual(message);
  });

  it('a deployed agent drops messages from the future only (sheet §3.6)', () => {
    const frames = chef2.sealServer(chef2.encodeServer({ type: 'abort' }, FROM_SERVER) ?? Buffer.of(), server);
    const at = (now: number) => dropCause(() => chef2.openServer(...frames, agent, { ...LIMITS_NOW, now }));
    expect([at(NOW + 9_999_999), at(NOW - 300_000), at(NOW - 301_000)]).toEqual([
      'accepted',
      'accepted',
      'bad_timestamp',
    ]);
  });
});
