import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type OwnershipEvent, stepOwnership } from '../../src/ownership/machine.js';
import type { Owner, PushMessage } from '../../src/ownership/types.js';

const AT = 1_000_000;
const down: Owner = { kind: 'down' };
const idle: Owner = { kind: 'idle' };
const rehab: Owner = { kind: 'rehab', since: 5, reason: 'it misbehaved' };
const inJob: Owner = { kind: 'job', jobId: 'j1' };

const abort = { do: 'abort' };
const aborted = (settled: boolean): PushMessage => ({ type: 'aborted', jobId: null, from: 'ready', settled });
const ack: PushMessage = { type: 'ack', jobId: 'j1' };
const message = (content: PushMessage, leftover = false): OwnershipEvent => ({
  type: 'message',
  message: content,
  leftover,
});
const heartbeat = (jobId: string | null, jobLive = false): OwnershipEvent => ({
  type: 'heartbeat',
  state: jobId === null ? 'ready' : 'running',
  jobId,
  jobLive,
});
const step = (owner: Owner, event: OwnershipEvent) => stepOwnership(owner, event, AT);

describe('§5.5.1 Server tracking of client states', () => {
  test('on server startup all nodes that are up are sent to rehab', () => {
    for (const owner of [idle, rehab, inJob]) {
      expect(step(owner, { type: 'loaded', untouched: false })).toEqual({
        owner: { kind: 'rehab', since: AT, reason: 'the server has started' },
        effects: [abort],
      });
    }
  });

  test('on server startup nodes that are down stay down', () => {
    expect(step(down, { type: 'loaded', untouched: false })).toEqual({ owner: down, effects: [] });
  });

  test('when a job is started it takes clients from idle to part of the job', () => {
    expect(step(idle, { type: 'claim', jobId: 'j1' })).toEqual({ owner: inJob, effects: [] });
  });

  test.each([down, rehab, inJob])('only idle clients are available for a job, not $kind', (owner) => {
    expect(step(owner, { type: 'claim', jobId: 'j2' })).toEqual({ owner, effects: [] });
  });

  test('as clients complete the execution of the job they are returned to the idle state', () => {
    const release: OwnershipEvent = { type: 'release', jobId: 'j1', to: 'idle', reason: 'succeeded' };
    expect(step(inJob, release)).toEqual({ owner: idle, effects: [] });
  });

  test('a client that a job gives up goes to rehab, for the reason the job gives', () => {
    const release: OwnershipEvent = { type: 'release', jobId: 'j1', to: 'rehab', reason: 'crashed in job j1' };
    expect(step(inJob, release)).toEqual({
      owner: { kind: 'rehab', since: AT, reason: 'crashed in job j1' },
      effects: [abort],
    });
  });

  test.each([down, rehab, idle, { kind: 'job', jobId: 'j2' } as Owner])(
    'a job cannot release a node it does not own ($kind)',
    (owner) => {
      const release: OwnershipEvent = { type: 'release', jobId: 'j1', to: 'idle', reason: 'late' };
      expect(step(owner, release)).toEqual({ owner, effects: [] });
    },
  );

  test.each([idle, rehab])('if a client stops heartbeating it is moved to the down state, from $kind', (owner) => {
    expect(step(owner, { type: 'down' })).toEqual({ owner: down, effects: [] });
  });

  test('if this happens during the execution of a job, the job is told', () => {
    expect(step(inJob, { type: 'down' })).toEqual({ owner: down, effects: [{ do: 'tell', jobId: 'j1' }] });
  });

  test('once a client starts heartbeating again it is moved to rehab', () => {
    expect(step(down, { type: 'up' })).toEqual({
      owner: { kind: 'rehab', since: AT, reason: 'it came up' },
      effects: [abort],
    });
  });
});

describe('§5.5.2 Message handling', () => {
  test('messages of a client that is part of a job go to the job', () => {
    expect(step(inJob, message(ack))).toEqual({ owner: inJob, effects: [{ do: 'tell', jobId: 'j1' }] });
    expect(step(inJob, heartbeat('j1'))).toEqual({ owner: inJob, effects: [{ do: 'tell', jobId: 'j1' }] });
  });

  test('messages from down clients are logged and dropped', () => {
    expect(step(down, message(ack))).toEqual({ owner: down, effects: [{ do: 'drop', why: 'the node is down' }] });
  });

  test('a late answer to an abort of rehab does not reach the job that owns the node since', () => {
    expect(step(inJob, message(aborted(true), true)).effects).toEqual([
      { do: 'drop', why: 'it answers an earlier abort' },
    ]);
  });
});

describe('§5.5.3 Idle', () => {
  const job = { jobId: 'j1', outcome: 'succeeded', exitCode: 0, signal: null, reason: null } as const;
  const wrong: readonly PushMessage[] = [
    ack,
    { type: 'nack', jobId: 'j1', reason: 'busy', currentJobId: null },
    { type: 'started', jobId: 'j1' },
    { type: 'finished', ...job, output: null, bytes: null },
    { type: 'error', jobId: 'j1', reason: 'start failed' },
    { type: 'crashed', jobId: null },
    { type: 'output', jobId: 'j1', stream: 'stdout', offset: 0, data: new Uint8Array() },
  ];
  test.each(wrong)('$type from an idle node sends it into rehab', (content) => {
    expect(step(idle, message(content))).toEqual({
      owner: { kind: 'rehab', since: AT, reason: `it sent ${content.type} while idle` },
      effects: [abort],
    });
  });

  const leftovers: readonly PushMessage[] = [aborted(true), { type: 'ready', start: null }];
  test.each(leftovers)('a left-over $type does not bounce an idle node back into rehab (E2E-12)', (content) => {
    expect(step(idle, message(content))).toEqual({ owner: idle, effects: [] });
  });

  test('a heartbeat without a job leaves an idle node alone', () => {
    expect(step(idle, heartbeat(null))).toEqual({ owner: idle, effects: [] });
  });

  test.each([
    [true, 'it reported a job it is not part of'],
    [false, 'it reported a job that is over'],
    // sheet §4.1: an absent or malformed job id behaves like an unknown job
  ])('§5.3.6: an idle node that reports a job (live: %s) is sent an abort', (live, reason) => {
    expect(step(idle, heartbeat('j9', live))).toEqual({
      owner: { kind: 'rehab', since: AT, reason },
      effects: [abort],
    });
    expect(step(idle, heartbeat('', false)).effects).toEqual([abort]);
  });
});

describe('§5.5.3 Rehab', () => {
  test('every client in rehab is sent an abort periodically', () => {
    expect(step(rehab, { type: 'rehab_tick' })).toEqual({ owner: rehab, effects: [abort] });
  });

  test.each([down, idle, inJob])('a client that is $kind is not', (owner) => {
    expect(step(owner, { type: 'rehab_tick' })).toEqual({ owner, effects: [] });
  });

  test('once the abort is acknowledged it moves into idle', () => {
    expect(step(rehab, message(aborted(true)))).toEqual({ owner: idle, effects: [] });
  });

  test('an agent that is still killing its command stays in rehab', () => {
    expect(step(rehab, message(aborted(false))).owner).toBe(rehab);
  });

  test('it logs and drops any other messages', () => {
    expect(step(rehab, message(ack))).toEqual({ owner: rehab, effects: [{ do: 'drop', why: 'the node is in rehab' }] });
    expect(step(rehab, heartbeat('j1'))).toEqual({ owner: rehab, effects: [] });
  });
});

describe('§4.5, N11 Restarts', () => {
  test.each(['clean', 'crash', 'reinstalled'] as const)('a job is told of a restart (%s), then rehab', (end) => {
    const result = step(inJob, { type: 'restarted', end });
    expect(result.owner.kind).toBe('rehab');
    expect(result.effects).toEqual([{ do: 'tell', jobId: 'j1' }, abort]);
  });

  test('a restarted idle node is reset', () => {
    expect(step(idle, { type: 'restarted', end: 'crash' }).effects).toEqual([abort]);
  });

  test.each([down, rehab])('a restart changes nothing for a node that is $kind', (owner) => {
    expect(step(owner, { type: 'restarted', end: 'crash' })).toEqual({ owner, effects: [] });
  });
});

describe('§5.5.4 Recovery after a server crash, N10', () => {
  test('an unfinished job takes its node back', () => {
    expect(step(inJob, { type: 'readopt', jobId: 'j1' })).toEqual({ owner: inJob, effects: [] });
  });

  test('a job that had not begun gets what it finds idle', () => {
    expect(step(idle, { type: 'readopt', jobId: 'j1' })).toEqual({ owner: inJob, effects: [] });
  });

  test.each([down, rehab])('clients that are $kind stay so', (owner) => {
    expect(step(owner, { type: 'readopt', jobId: 'j1' })).toEqual({ owner, effects: [] });
  });

  test("another job's client stays its own", () => {
    expect(step(inJob, { type: 'readopt', jobId: 'j2' })).toEqual({ owner: inJob, effects: [] });
  });
});

describe('§5.5.3 Invariant: a client is always owned by some state when it is up', () => {
  test('any node that is up and not owned is sent to rehab', () => {
    const result = step(down, { type: 'check', status: 'up', jobLive: true });
    expect(result.owner.kind).toBe('rehab');
    expect(result.effects.map((effect) => effect.do)).toEqual(['violation', 'abort']);
  });

  test('a node owned by a job that is over is sent to rehab', () => {
    expect(step(inJob, { type: 'check', status: 'up', jobLive: false }).owner.kind).toBe('rehab');
  });

  test('a node that is down is owned by nobody', () => {
    const result = step(idle, { type: 'check', status: 'down', jobLive: true });
    expect(result.owner).toEqual(down);
    expect(result.effects.map((effect) => effect.do)).toEqual(['violation']);
  });

  test.each([idle, rehab, inJob])('an up node owned by $kind passes', (owner) => {
    expect(step(owner, { type: 'check', status: 'up', jobLive: true })).toEqual({ owner, effects: [] });
  });
});

describe('properties', () => {
  const jobIds = fc.constantFrom('j1', 'j2');
  const content: fc.Arbitrary<PushMessage> = fc.oneof(
    fc.constant(ack),
    fc.boolean().map(aborted),
    fc.constant<PushMessage>({ type: 'ready', start: null }),
    jobIds.map((jobId): PushMessage => ({ type: 'started', jobId })),
  );
  const event: fc.Arbitrary<OwnershipEvent> = fc.oneof(
    fc.constantFrom<OwnershipEvent>({ type: 'up' }, { type: 'down' }, { type: 'rehab_tick' }),
    jobIds.map((jobId): OwnershipEvent => ({ type: 'claim', jobId })),
    fc
      .tuple(jobIds, fc.constantFrom('idle' as const, 'rehab' as const))
      .map(([jobId, to]): OwnershipEvent => ({ type: 'release', jobId, to, reason: 'test' })),
    fc.tuple(content, fc.boolean()).map(([one, leftover]) => message(one, leftover)),
    fc.tuple(fc.option(jobIds), fc.boolean()).map(([jobId, live]) => heartbeat(jobId, live)),
    fc
      .constantFrom('clean' as const, 'crash' as const, 'reinstalled' as const)
      .map((end): OwnershipEvent => ({ type: 'restarted', end })),
  );

  test('an up node is always owned by exactly one, and a down node by nobody', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        let owner: Owner = down;
        let up = false;
        for (const one of events) {
          // Liveness changes are events only when they are changes.
          if (one.type === 'up' || one.type === 'down') up = one.type === 'up';
          owner = stepOwnership(owner, one, AT).owner;
          expect(owner.kind === 'down').toBe(!up);
        }
      }),
    );
  });

  test('a job never takes a node from another, and only idle nodes change into its hands', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        let owner: Owner = down;
        for (const one of events) {
          const next: Owner = stepOwnership(owner, one, AT).owner;
          if (next.kind === 'job' && next !== owner) {
            expect(owner.kind).toBe('idle');
            expect(one.type).toBe('claim');
          }
          owner = next;
        }
      }),
    );
  });

  test('rehab is left only by a settled acknowledgement or by going down', () => {
    fc.assert(
      fc.property(event, (one) => {
        const next = stepOwnership(rehab, one, AT).owner;
        if (next.kind === 'rehab') return;
        if (next.kind === 'down') expect(one.type).toBe('down');
        else expect(one.type === 'message' && one.message.type === 'aborted' && one.message.settled).toBe(true);
      }),
    );
  });
});
