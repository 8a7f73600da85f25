import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { dialects } from '../src/dialects/index.js';
import type { Session } from '../src/dialects/types.js';
import { formatHeader } from '../src/header.js';
import { LIMITS } from '../src/limits.js';
import { signHmac } from '../src/message-signing.js';
import type { AgentMessage, ServerMessage } from '../src/messages/index.js';
import { dropCause, FROM_NODE, FROM_SERVER, LIMITS_NOW, NOW, sessionPair } from './sessions.js';

const { native, chef2, spec1 } = dialects;
let server: Session;
let agent: Session;

beforeEach(() => {
  ({ server, agent } = sessionPair());
});

const id = fc.stringMatching(/^[0-9a-f]{24}$/);
const attempt = fc.integer({ min: 1, max: 1000 });
const ref = fc.record({ id, attempt });
const refs = fc.array(ref, { maxLength: 3 });
const name = fc.string({ minLength: 1, maxLength: 40 });
const text = fc.string({ unit: 'grapheme', maxLength: 80 });
const stream = fc.constantFrom('stdout' as const, 'stderr' as const);
const bytes = fc.option(fc.record({ stdout: fc.nat(), stderr: fc.nat() }));
const params = fc.dictionary(
  name,
  fc.oneof(text, fc.integer(), fc.boolean(), fc.array(fc.integer(), { maxLength: 3 })),
  {
    maxKeys: 4,
    noNullPrototype: true,
  },
);
const assigned = fc.record({
  id,
  attempt,
  queue: fc.record({ id, name }),
  plugin: name,
  params,
  ctime: fc.nat(),
  mtime: fc.nat(),
  timeoutSeconds: fc.option(fc.nat()),
  outputLimit: fc.nat(),
});
const result = fc.record({
  status: fc.integer({ min: 1, max: 300 }),
  retry: fc.boolean(),
  reason: fc.option(text),
  exitCode: fc.option(fc.nat(255)),
  signal: fc.option(fc.constantFrom('SIGKILL', 'SIGSEGV')),
  stdout: fc.option(text),
  stderr: fc.option(text),
  bytes,
  durationMs: fc.nat(),
});
const news = fc
  .tuple(
    ref,
    fc.oneof(
      fc.record({ event: fc.constant('started' as const) }),
      fc.record({
        event: fc.constant('progress' as const),
        fraction: fc.double({ min: 0, max: 1, noNaN: true }),
        text,
      }),
      fc.record({ event: fc.constant('finished' as const), result }),
      fc.record({ event: fc.constantFrom('returned' as const, 'lost' as const), reason: text }),
      fc.record({ event: fc.constant('cancelled' as const), forced: fc.boolean(), bytes, durationMs: fc.nat() }),
    ),
  )
  .map(([about, what]) => ({ ...about, ...what }));

const order: fc.Arbitrary<ServerMessage> = fc.oneof(
  fc.record({
    type: fc.constant('task_orders' as const),
    assign: fc.array(assigned, { maxLength: 3 }),
    settled: refs,
    cancel: refs,
    recall: refs,
  }),
  fc.record({ type: fc.constant('task_output_stored' as const), id, attempt, stream, offset: fc.nat() }),
  fc.constant<ServerMessage>({ type: 'task_census' }),
);
const report: fc.Arbitrary<AgentMessage> = fc.oneof(
  fc.record({
    type: fc.constant('task_slots' as const),
    max: fc.nat(),
    plugins: fc.array(
      fc.record({
        name,
        contract: fc.constantFrom(
          'default' as const,
          'nomongo' as const,
          'simple' as const,
          'module' as const,
          'perl' as const,
        ),
        concurrency: fc.option(fc.nat()),
      }),
      { maxLength: 3 },
    ),
    activequeues: fc.array(name, { maxLength: 3 }),
    ignorequeues: fc.array(name, { maxLength: 3 }),
  }),
  fc.record({ type: fc.constant('task_news' as const), news: fc.array(news, { maxLength: 3 }) }),
  fc.record({
    type: fc.constant('task_inventory' as const),
    held: fc.array(
      fc.record({ id, attempt, state: fc.constantFrom('waiting' as const, 'running' as const, 'ended' as const) }),
      { maxLength: 3 },
    ),
  }),
  fc.record({
    type: fc.constant('task_output' as const),
    id,
    attempt,
    stream,
    offset: fc.nat(),
    data: fc.uint8Array({ maxLength: 512 }).map((data): Uint8Array => Buffer.from(data)),
  }),
);

/** As an authentic peer would send it. */
function signed(body: Uint8Array, sequence: number): Uint8Array {
  return formatHeader({ version: '3.0', sequence, signature: signHmac(server.key, `${sequence}\n`, body) });
}

const bodyOf = (fields: object): Uint8Array => Buffer.from(JSON.stringify(fields));

describe('messages about tasks', () => {
  it('come out at the node as they went in at the server', () => {
    fc.assert(
      fc.property(order, (message) => {
        const encoded = native.encodeServer(message, FROM_SERVER);
        expect(encoded).not.toBeNull();
        const [head, body] = native.sealServer(encoded ?? Buffer.alloc(0), server);
        expect(native.openServer(head, body, agent, LIMITS_NOW)).toEqual(message);
      }),
    );
  });

  it('come out at the server as they went in at the node', () => {
    fc.assert(
      fc.property(report, (message) => {
        const [head, body] = native.encodeAgent(message, FROM_NODE, agent) ?? [];
        expect(native.openAgent(head ?? Buffer.alloc(0), body ?? Buffer.alloc(0), server, LIMITS_NOW).message).toEqual(
          message,
        );
      }),
    );
  });

  it('have no form in the other dialects', () => {
    fc.assert(
      fc.property(order, report, (toNode, toServer) => {
        for (const dialect of [chef2, spec1]) {
          expect(dialect.encodeServer(toNode, FROM_SERVER)).toBeNull();
          expect(dialect.encodeAgent(toServer, FROM_NODE, agent)).toBeNull();
        }
      }),
    );
  });

  it('are read or dropped, whatever stands in their fields', () => {
    const types = ['task_slots', 'task_news', 'task_inventory', 'task_output', 'task_orders', 'task_output_stored'];
    const value = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constant([['a', 1]]), fc.constant([{ task: ['a', 1] }]));
    const fields = [
      'max',
      'plugins',
      'activequeues',
      'news',
      'held',
      'task',
      'assign',
      'settled',
      'stream',
      'data',
      'offset',
    ];
    const body = fc.tuple(fc.constantFrom(...types), fc.dictionary(fc.constantFrom(...fields), value));
    let sequence = 0;
    fc.assert(
      fc.property(body, ([type, rest]) => {
        sequence += 1;
        const common = { org: 'acme', node: 'n', server: 's', timestamp: new Date(NOW).toISOString() };
        const bytesOf = bodyOf({ ...rest, ...common, type });
        dropCause(() => native.openAgent(signed(bytesOf, sequence), bytesOf, server, LIMITS_NOW));
        dropCause(() => native.openServer(signed(bytesOf, sequence), bytesOf, agent, LIMITS_NOW));
      }),
      { numRuns: 1000 },
    );
  });

  it.each([
    [
      'more tasks than one message may have',
      { type: 'task_news', news: Array.from({ length: LIMITS.tasksAtOnce + 1 }, () => ({})) },
    ],
    ['a number of an attempt below 1', { type: 'task_inventory', held: [['a', 0, 'running']] }],
    [
      'a status that is not positive',
      { type: 'task_news', news: [{ task: ['a', 1], event: 'finished', result: { status: 0, duration_ms: 1 } }] },
    ],
    [
      'output beyond what may come inline',
      {
        type: 'task_news',
        news: [
          {
            task: ['a', 1],
            event: 'finished',
            result: { status: 1, duration_ms: 1, stdout: 'x'.repeat(LIMITS.inlineOutputBytes + 1) },
          },
        ],
      },
    ],
  ])('with %s are dropped', (_, fields) => {
    const body = bodyOf({ ...fields, org: 'acme', node: 'n', timestamp: new Date(NOW).toISOString() });
    expect(dropCause(() => native.openAgent(signed(body, 1), body, server, LIMITS_NOW))).toBe('parse_fail');
  });
});
