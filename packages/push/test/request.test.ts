import { MusterError } from '@muster/base';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findDuplicateKey } from '../src/request/duplicate-keys.js';
import { newJobId } from '../src/request/job-id.js';
import { resolveSpec } from '../src/request/job-spec.js';
import { readPreviewRequest } from '../src/request/preview.js';
import { type JobRequest, readJobRequest } from '../src/request/request.js';
import { resolveShare } from '../src/request/shares.js';

const LIMITS = { maxNodes: 100 };
const GOOD = { command: 'chef-client', nodes: ['DONKEY'] };

function read(body: unknown, text = JSON.stringify(body)): JobRequest {
  return readJobRequest(body, text, LIMITS);
}

function refusal(body: unknown, text?: string): MusterError {
  try {
    read(body, text);
  } catch (error) {
    if (error instanceof MusterError) return error;
    throw error;
  }
  throw new Error(`accepted: ${JSON.stringify(body)}`);
}

const message = (body: unknown, text?: string): string => refusal(body, text).message;

/** `it.each` would spread lists. */
const each = (...values: unknown[]): [unknown][] => values.map((value) => [value]);

const NO_COMMAND = 'invalid command supplied';
const NO_NODES = 'at least one node must be supplied';
const BAD_TIMEOUT = 'invalid type supplied for run_timeout (expected a number)';
const BAD_QUORUM = 'invalid type supplied for quorum (expected a number)';
const UNKNOWN = 'an unknown validation error has occurred';
const BAD_CAPTURE = 'invalid type supplied for capture_output (expected a boolean)';
const BAD_KEY = 'invalid key supplied';
const DUPLICATE = 'invalid environment value (duplicate key)';
const BAD_PREFIX = "invalid file contents (expected 'base64:...' or 'raw:...')";
const BAD_BASE64 = "invalid file contents (couldn't decode base64 string)";
const BAD_SIZE = 'invalid file size (must be <= 100000 bytes)';

describe('sheet §7.5: what a job may be', () => {
  it('command and nodes are enough', () => {
    expect(read(GOOD)).toEqual({
      command: 'chef-client',
      target: { kind: 'nodes', nodes: ['DONKEY'] },
      quorum: null,
      runTimeout: null,
      options: {},
      capture: false,
      nodeTimeout: null,
      votingTimeout: null,
      waitTimeout: null,
      whenBusy: 'skip',
      ackTimeout: null,
      concurrency: null,
      startRate: null,
      maxFailures: null,
      batches: null,
      batchPause: null,
      batchConfirm: false,
      onFailures: 'end',
    });
  });

  it('the command may be empty', () => expect(read({ ...GOOD, command: '' }).command).toBe(''));

  it('an empty env is kept', () => expect(read({ ...GOOD, env: {} }).options).toEqual({ env: {} }));

  it('user, dir, env and file are kept as given', () => {
    const options = { user: 'bob', dir: '/tmp', env: { A: '1' }, file: 'raw:x' };
    expect(read({ ...GOOD, ...options }).options).toEqual(options);
  });

  it('run_timeout 0 is allowed, a fraction is rounded', () => {
    expect(read({ ...GOOD, run_timeout: 0 }).runTimeout).toBe(0);
    expect(read({ ...GOOD, run_timeout: 2.5 }).runTimeout).toBe(3);
  });

  it.each([
    [0, { count: 0 }],
    [999, { count: 999 }],
    [1, { count: 1 }],
    [0.8, { percent: 80 }],
    ['80%', { percent: 80 }],
    ['12.5%', { percent: 12.5 }],
  ])('quorum %j is accepted (N8)', (quorum, share) => expect(read({ ...GOOD, quorum }).quorum).toEqual(share));

  it('a node named twice takes part once', () => {
    expect(read({ ...GOOD, nodes: ['A', 'B', 'A'] }).target).toEqual({ kind: 'nodes', nodes: ['A', 'B'] });
  });

  it('a file of exactly 100000 bytes is accepted in both forms', () => {
    const bytes = Buffer.alloc(100_000, 7);
    for (const file of [`raw:${'x'.repeat(100_000)}`, `base64:${bytes.toString('base64')}`, 'raw:', 'base64:']) {
      expect(read({ ...GOOD, file }).options.file).toBe(file);
    }
  });
});

describe('sheet §7.5: refusals, row by row', () => {
  it.each([{ nodes: ['A'] }, ...[[], {}, 0, false, null].map((command) => ({ ...GOOD, command }))])(
    'row 1, JOBS-61: %j',
    (body) => expect(message(body)).toBe(NO_COMMAND),
  );

  it.each([
    { command: 'x' },
    ...['', 'DONKEY', [false], [null], [{}], {}, 0, false, null].map((nodes) => ({ command: 'x', nodes })),
  ])('row 2, JOBS-63: %j', (body) => expect(message(body)).toBe(NO_NODES));

  it.each(each('', '1', [], {}, false, null))('row 3, JOBS-67: run_timeout %j', (run_timeout) =>
    expect(message({ ...GOOD, run_timeout })).toBe(BAD_TIMEOUT),
  );

  it.each(each('', '1', [], {}, false, null, '80', '%', 'x%', '1e2%'))('row 4, JOBS-65: quorum %j', (quorum) =>
    expect(message({ ...GOOD, quorum })).toBe(BAD_QUORUM),
  );

  it.each([
    { user: 123 },
    { user: null },
    { dir: 1 },
    { dir: null },
    { env: 'A=1' },
    { env: null },
    { env: [] },
    { env: { A: 1 } },
    { file: 1 },
    { file: null },
  ])('row 5: %j', (extra) => expect(message({ ...GOOD, ...extra })).toBe(UNKNOWN));

  it.each(each([], 'text', 1, null, true, undefined))('row 5: the body is %j', (body) =>
    expect(message(body, String(JSON.stringify(body)))).toBe(UNKNOWN),
  );

  it.each([1, 0, 'true', null])('row 6: capture_output %j', (capture_output) =>
    expect(message({ ...GOOD, capture_output })).toBe(BAD_CAPTURE),
  );

  it('row 7: what is advised names the key', () => {
    expect(refusal({ ...GOOD, foo: 1 }).fix).toBe("Remove 'foo': see /docs for what there is.");
  });
  it.each([null, '', 'bar', 0])('row 7, JOBS-68: foo is %j', (foo) => expect(message({ ...GOOD, foo })).toBe(BAD_KEY));

  it('row 8, JOBS-63: nodes is empty', () => expect(message({ ...GOOD, nodes: [] })).toBe(NO_NODES));

  it.each([
    '{"command":"x","nodes":["A"],"env":{"A":"1","A":"2"}}',
    '{"command":"x","nodes":["A"],"env":{"A":"1","\\u0041":"2"}}',
    '{"env": {"B":"{\\"A\\":1}", "A" : "1" ,\n"A":"2"}, "command":"x","nodes":["A"]}',
  ])('row 9: %s', (text) => expect(message(JSON.parse(text), text)).toBe(DUPLICATE));

  it.each(['', 'x', 'RAW:x', 'base64', ' raw:x'])('row 10: file %j', (file) =>
    expect(message({ ...GOOD, file })).toBe(BAD_PREFIX),
  );

  it.each(['base64:@', 'base64:abc', 'base64:ab==cd==', 'base64:YQ', 'base64:YQ= ='])('row 11: file %j', (file) =>
    expect(message({ ...GOOD, file })).toBe(BAD_BASE64),
  );

  it.each([`raw:${'x'.repeat(100_001)}`, `base64:${Buffer.alloc(100_001).toString('base64')}`])(
    'row 12: too large',
    (file) => expect(message({ ...GOOD, file })).toBe(BAD_SIZE),
  );

  it('the first failure wins', () => {
    const rows: [string, Record<string, unknown>][] = [
      [NO_COMMAND, { command: 1 }],
      [NO_NODES, { nodes: 1 }],
      [BAD_TIMEOUT, { run_timeout: 'x' }],
      [BAD_QUORUM, { quorum: 'x' }],
      [UNKNOWN, { user: 1 }],
      [BAD_CAPTURE, { capture_output: 1 }],
      [BAD_KEY, { foo: 1 }],
      [BAD_PREFIX, { file: 'x' }],
    ];
    let body: Record<string, unknown> = GOOD;
    for (const [text, wrong] of rows.reverse()) {
      body = { ...body, ...wrong };
      expect(message(body)).toBe(text);
    }
  });
});

describe('what the deployed server answered with 500', () => {
  it.each([
    [{ user: 'x'.repeat(33) }, 'user'],
    [{ command: 'x'.repeat(40_000) }, 'command'],
    [{ command: 'a\0b' }, 'command'],
    [{ command: '\ud800' }, 'command'],
    [{ nodes: ['x'.repeat(256)] }, 'nodes'],
    [{ nodes: [''] }, 'nodes'],
    [{ dir: 'x'.repeat(5000) }, 'dir'],
    [{ env: { '': 'x' } }, 'env'],
    [{ env: { 'A=B': 'x' } }, 'env'],
    [{ env: { A: 'x\0' } }, 'env.A'],
    [{ env: { A: 'x'.repeat(200_000) } }, 'env.A'],
    [{ run_timeout: -1 }, 'run_timeout'],
    [{ run_timeout: 1e12 }, 'run_timeout'],
    [{ quorum: -1 }, 'quorum'],
    [{ quorum: 1.5 }, 'quorum'],
    [{ quorum: '101%' }, 'quorum'],
  ])('%# is refused naming %s', (extra, field) => {
    const error = refusal({ ...GOOD, ...extra });
    expect(error.status).toBe(400);
    expect(error.message).toMatch(new RegExp(`^invalid ${field.replace('.', '\\.')}: `));
  });

  it('a user of 32 characters and a node name of 255 bytes are accepted', () => {
    expect(read({ ...GOOD, user: 'ü'.repeat(32) }).options.user).toHaveLength(32);
    expect(read({ ...GOOD, nodes: ['x'.repeat(255)] }).target).toMatchObject({ kind: 'nodes' });
  });

  it('a key given twice is refused', () => {
    const text = '{"command":"a","command":"b","nodes":["A"]}';
    expect(message(JSON.parse(text), text)).toBe('invalid command: given twice');
  });
});

describe('our own keys', () => {
  it.each([
    [{ search: 'role:web' }, { kind: 'search', query: 'role:web' }],
    [{ node_group: 'web' }, { kind: 'node_group', name: 'web' }],
    [
      { from_job: { id: 'a'.repeat(32), statuses: ['complete', 'crashed', 'failed'] } },
      { kind: 'from_job', jobId: 'a'.repeat(32), statuses: ['succeeded', 'failed', 'crashed'] },
    ],
  ])('%j chooses nodes', (way, target) => expect(read({ command: 'x', ...way }).target).toEqual(target));

  it('exactly one way to choose nodes is allowed', () => {
    expect(message({ ...GOOD, search: '*:*' })).toBe(NO_NODES);
    expect(message({ command: 'x', search: '*:*', node_group: 'g' })).toBe(NO_NODES);
  });

  it('limits and timeouts are read', () => {
    const extra = {
      node_timeout: 1.5,
      voting_timeout: 5,
      ack_timeout: 2,
      concurrency: '25%',
      start_rate: 0.5,
      max_failures: 0,
    };
    expect(read({ ...GOOD, ...extra })).toMatchObject({
      nodeTimeout: 1.5,
      votingTimeout: 5,
      ackTimeout: 2,
      concurrency: { percent: 25 },
      startRate: 0.5,
      maxFailures: { count: 0 },
    });
  });

  it.each([
    [{ search: 1 }, 'search'],
    [{ node_group: '' }, 'node_group'],
    [{ from_job: 'x' }, 'from_job'],
    [{ from_job: { id: 'x', statuses: ['failed'] } }, 'from_job.id'],
    [{ from_job: { id: 'a'.repeat(32), statuses: [] } }, 'from_job.statuses'],
    [{ from_job: { id: 'a'.repeat(32), statuses: ['toString'] } }, 'from_job.statuses'],
    [{ from_job: { id: 'a'.repeat(32), statuses: ['failed'], foo: 1 } }, 'from_job.foo'],
    [{ nodes: ['A'], node_timeout: 0 }, 'node_timeout'],
    [{ nodes: ['A'], voting_timeout: '1' }, 'voting_timeout'],
    [{ nodes: ['A'], ack_timeout: null }, 'ack_timeout'],
    [{ nodes: ['A'], concurrency: 0 }, 'concurrency'],
    [{ nodes: ['A'], concurrency: 'many' }, 'concurrency'],
    [{ nodes: ['A'], start_rate: -1 }, 'start_rate'],
    [{ nodes: ['A'], max_failures: -1 }, 'max_failures'],
    [{ nodes: ['A'], max_failures: true }, 'max_failures'],
  ])('%j is refused naming the key', (extra, field) => {
    const error = refusal({ command: 'x', ...extra });
    expect([error.code, error.details.field]).toEqual(['invalid_field', field]);
  });

  it('a preview takes a choice of nodes, and what they would be asked', () => {
    const preview = (body: unknown) => readPreviewRequest(body, JSON.stringify(body), 100);
    const target = { kind: 'search', query: 'a' };
    expect(preview({ search: 'a' })).toEqual({
      target,
      command: null,
      quorum: null,
      whenBusy: 'skip',
      batches: null,
      batchPause: null,
      batchConfirm: false,
      script: false,
      uploads: false,
      fetch: false,
      variables: false,
      user: false,
      dir: false,
      file: false,
      secrets: [],
    });
    expect(preview({ search: 'a', command: 'x', uploads: true })).toMatchObject({ command: 'x', uploads: true });
    expect(preview({ search: 'a', command: 'x', env: { COLOR: '1' } })).toMatchObject({ variables: true });
    expect(preview({ search: 'a', command: 'x', user: 'u' })).toMatchObject({ user: true, dir: false });
    expect(preview({ search: 'a', command: 'x', dir: '/srv' })).toMatchObject({ user: false, dir: true });
    expect(preview({ search: 'a', command: 'x', file: 'raw:x' })).toMatchObject({ file: true });
    expect(preview({ search: 'a', quorum: '80%', when_busy: 'wait' })).toMatchObject({
      quorum: { percent: 80 },
      whenBusy: 'wait',
    });
    expect(preview({ search: 'a', quorum: 'default' })).toMatchObject({ quorum: 'default' });
    expect(() => preview({ search: 'a', quorum: true })).toThrow(expect.objectContaining({ code: 'invalid_quorum' }));
    expect(() => preview({ search: 'a', quorum: 1.5 })).toThrow('quorum');
    expect(() => preview({ search: 'a', when_busy: 'never' })).toThrow('when_busy');
    expect(preview({ search: 'a', user: 'x', secrets: { db: '' } })).toMatchObject({ command: null, secrets: ['db'] });
    // As the job would be refused.
    expect(() => preview({ search: 'a', concurrency: '0%' })).toThrow('concurrency');
    expect(() => preview({ search: 'a', users: 'x' })).toThrow(BAD_KEY);
    expect(() => preview({ users: 'x', search: 'a' })).toThrow(expect.objectContaining({ details: { key: 'users' } }));
    expect(() => preview({ search: 'a', command: 'x\0' })).toThrow('command');
    expect(() => preview({ search: 'a', script: 'deploy.sh' })).toThrow('script');
    expect(() => preview({ nodes: [] })).toThrow(NO_NODES);
    expect(() => preview({})).toThrow(NO_NODES);
  });
});

describe('shares (N8, sheet §8.2)', () => {
  it.each([
    [{ count: 3 }, 10, 3],
    [{ percent: 80 }, 10, 8],
    [{ percent: 81 }, 10, 9],
    [{ percent: 0.07 * 100 }, 100, 7],
    [{ percent: 100 }, 3, 3],
    [{ percent: 0 }, 3, 0],
    [{ percent: 33.3 }, 3, 1],
  ])('%j of %i is %i', (share, total, count) => expect(resolveShare(share, total)).toBe(count));

  it.each([
    [{ percent: 10 }, 5, 0],
    [{ percent: 10 }, 21, 2],
    [{ percent: 0.07 * 100 }, 100, 7],
    [{ percent: 100 }, 3, 3],
    [{ count: 3 }, 1, 3],
  ])('what must not be exceeded rounds down: %j of %i is %i', (share, total, count) =>
    expect(resolveShare(share, total, 'down')).toBe(count),
  );

  it('become counts once the number of nodes is known', () => {
    const request = read({ ...GOOD, quorum: '50%', concurrency: '1%', max_failures: '10%' });
    const spec = resolveSpec(request, 21, 'web', { runTimeout: 3600, votingTimeout: 60, waitTimeout: 60 });
    expect(spec).toMatchObject({ quorum: 11, concurrency: 1, maxFailures: 2, runTimeout: 3600, votingTimeout: 60 });
  });

  it('busy nodes are waited for when asked for, as long as the server says unless the job does', () => {
    const defaults = { runTimeout: 1, votingTimeout: 1, waitTimeout: 3600 };
    const waits = (extra: object) => resolveSpec(read({ ...GOOD, ...extra }), 5, 'x', defaults).waitTimeout;
    expect([waits({}), waits({ when_busy: 'skip' })]).toEqual([undefined, undefined]);
    expect([waits({ when_busy: 'wait' }), waits({ when_busy: 'wait', wait_timeout: 5 })]).toEqual([3600, 5]);
    expect(() => read({ ...GOOD, when_busy: 'queue' })).toThrow('when_busy');
    expect(() => read({ ...GOOD, wait_timeout: 5 })).toThrow('wait_timeout');
  });

  it('batches are sizes of all nodes, rounded up, the last of which may be the rest', () => {
    const defaults = { runTimeout: 1, votingTimeout: 1, waitTimeout: 1 };
    const sizes = (batches: unknown) => resolveSpec(read({ ...GOOD, batches }), 25, 'x', defaults).batches;
    expect(sizes([1, '10%', 'rest'])).toEqual([1, 3, 25]);
    const wrong = [[], 3, ['rest', 1], [0], ['0%'], [-1], ['all'], Array(101).fill(1)];
    for (const batches of wrong) expect(() => sizes(batches)).toThrow('batches');
    expect(() => read({ ...GOOD, batch_pause: 5 })).toThrow('batch_pause');
    expect(() => read({ ...GOOD, batches: [1], batch_pause: 5, batch_confirm: true })).toThrow('batch_pause');
    expect(() => read({ ...GOOD, batch_confirm: true })).toThrow('batch_confirm');
    expect(() => read({ ...GOOD, batches: [1], batch_confirm: 'yes' })).toThrow('batch_confirm');
    expect(() => read({ ...GOOD, on_failures: 'hold' })).toThrow('on_failures');
    expect(() => read({ ...GOOD, max_failures: 1, on_failures: 'stop' })).toThrow('on_failures');
  });

  it('the quorum is all nodes when not given', () => {
    expect(resolveSpec(read(GOOD), 5, 'x', { runTimeout: 1, votingTimeout: 1, waitTimeout: 1 }).quorum).toBe(5);
  });
});

describe('job ids (sheet §7.5)', () => {
  it('end in 20 random digits after the last 12 of the organization', () => {
    const id = newJobId('0123456789abcdef0123456789abcdef', (bytes) => new Uint8Array(bytes).fill(0xab));
    expect(id).toBe(`456789abcdef${'ab'.repeat(10)}`);
  });
});

describe('fuzz', () => {
  it('a body is accepted or refused with an error from the table, never anything else', () => {
    const bodies = fc.oneof(
      fc.json().map((text) => JSON.parse(text) as unknown),
      fc.record(
        {
          command: fc.oneof(fc.string(), fc.jsonValue()),
          nodes: fc.oneof(fc.array(fc.string()), fc.jsonValue()),
          env: fc.oneof(fc.dictionary(fc.string(), fc.string()), fc.jsonValue()),
          file: fc.oneof(
            fc.string(),
            fc.base64String().map((text) => `base64:${text}`),
          ),
          quorum: fc.oneof(fc.double(), fc.string()),
          run_timeout: fc.oneof(fc.double(), fc.string()),
          from_job: fc.jsonValue(),
          concurrency: fc.jsonValue(),
        },
        { requiredKeys: [] },
      ),
    );
    fc.assert(
      fc.property(bodies, (body) => {
        try {
          read(body, JSON.stringify(body) ?? 'null');
        } catch (error) {
          expect(error).toBeInstanceOf(MusterError);
        }
      }),
    );
  });

  it('a text without duplicate keys has none found, whatever else it holds', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => findDuplicateKey(JSON.stringify(value)) === null));
  });

  it('deep nesting is read without recursion', () => {
    const depth = 300_000;
    expect(findDuplicateKey(`{"a":${'['.repeat(depth)}${']'.repeat(depth)},"a":1}`)).toEqual({
      inside: 'body',
      key: 'a',
    });
  });
});
