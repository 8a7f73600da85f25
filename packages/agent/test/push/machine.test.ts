import type { CommandResult } from '@muster/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Effect,
  type Event,
  initialMachine,
  type Machine,
  type Phase,
  type PreparedJob,
  reportedState,
  step,
} from '../../src/push/machine.js';

const job = (jobId: string): PreparedJob => ({ jobId, command: 'x', capture: false, options: {}, timeoutMs: null });
const inPhase = (phase: Phase): Machine => ({ ...initialMachine, phase });
const ready = inPhase({ kind: 'ready' });
const waiting = inPhase({ kind: 'waiting', job: job('a') });
const running: Machine = { ...inPhase({ kind: 'running', job: job('a') }), ran: ['a'] };
const terminating: Machine = { ...inPhase({ kind: 'terminating', job: job('a') }), ran: ['a'] };

const prepare = (jobId: string, refusal: string | null = null): Event => ({
  type: 'prepare',
  job: job(jobId),
  waitMs: null,
  refusal,
});
const start = (jobId: string): Event => ({ type: 'start', jobId });
const abort: Event = { type: 'abort' };
const ended = (jobId: string, outcome: CommandResult['outcome']): CommandResult => ({
  jobId,
  outcome,
  exitCode: outcome === 'succeeded' ? 0 : 1,
  signal: null,
  reason: null,
});
const exited = (jobId: string, outcome: CommandResult['outcome'] = 'succeeded'): Event => ({
  type: 'exited',
  result: ended(jobId, outcome),
  bytes: null,
});

const sent = (effects: readonly Effect[]) =>
  effects.flatMap((effect) => (effect.type === 'send' ? [effect.message] : []));
const kinds = (effects: readonly Effect[]) => effects.map(({ type }) => type);

function expectStep(from: Machine, event: Event, next: Phase['kind'], ...messages: object[]) {
  const { machine, effects } = step(from, event);
  expect(machine.phase.kind).toBe(next);
  expect(sent(effects)).toMatchObject(messages);
  return { machine, effects };
}

describe('Push Jobs §5.7, row by row', () => {
  it('Startup, clean shutdown detected: Pending', () => {
    expectStep(initialMachine, { type: 'looked_back', start: 'clean', interrupted: null }, 'pending');
  });
  it('Startup in the middle of an upgrade: the job of the agent before goes on, and nothing is said of a start (N11)', () => {
    const event: Event = { type: 'looked_back', start: 'clean', interrupted: null, resumed: job('a') };
    const { machine } = expectStep(initialMachine, event, 'running');
    expect(reportedState(machine)).toEqual({ state: 'running', jobId: 'a' });
    expectStep(machine, { type: 'server_heard' }, 'running');
    expectStep(machine, exited('a'), 'ready', { type: 'finished', jobId: 'a', outcome: 'succeeded' });
    expectStep(machine, start('a'), 'running', { type: 'started', jobId: 'a' });
  });
  it('Startup, previously running: sends job failed, Pending', () => {
    const event: Event = { type: 'looked_back', start: 'crash', interrupted: 'a' };
    expectStep(initialMachine, event, 'pending', { type: 'crashed', jobId: 'a' });
  });
  it('Startup, hard shutdown detected: sends crash, Pending', () => {
    const event: Event = { type: 'looked_back', start: 'crash', interrupted: null };
    expectStep(initialMachine, event, 'pending', { type: 'crashed', jobId: null });
  });
  it('Pending, message of a job: not processed', () => {
    const pending = inPhase({ kind: 'pending', start: 'clean' });
    for (const event of [prepare('a'), start('a'), abort]) expectStep(pending, event, 'pending');
  });
  it('Pending, server heartbeat found: Ready, and ready is sent with how it started (§7.4)', () => {
    const pending = inPhase({ kind: 'pending', start: 'first' });
    expectStep(pending, { type: 'server_heard' }, 'ready', { type: 'ready', start: 'first' });
  });
  it('Ready, PREPARE: sends ACK, Waiting', () => {
    const { effects } = expectStep(ready, prepare('a'), 'waiting', { type: 'ack', jobId: 'a' });
    expect(effects).toContainEqual(expect.objectContaining({ type: 'arm', timer: 'wait', jobId: 'a' }));
  });
  it('Ready, PREPARE of a command it may not run: sends NACK with the reason, Ready', () => {
    expectStep(ready, prepare('a', 'not allowed'), 'ready', { type: 'nack', jobId: 'a', reason: 'not allowed' });
  });
  it('Ready, ABORT: sends ABORTED (from ready), Ready', () => {
    expectStep(ready, abort, 'ready', { type: 'aborted', from: 'ready', jobId: null, settled: true });
  });
  it('Ready, START: sends ERROR start failed, Ready', () => {
    expectStep(ready, start('a'), 'ready', {
      type: 'error',
      jobId: 'a',
      reason: expect.stringContaining('start failed'),
    });
  });
  it('Waiting, PREPARE with the same job: sends ACK, Waiting', () => {
    expectStep(waiting, prepare('a'), 'waiting', { type: 'ack', jobId: 'a' });
  });
  it('Waiting, PREPARE with another job: sends NACK with the current job, Waiting', () => {
    expectStep(waiting, prepare('b'), 'waiting', { type: 'nack', jobId: 'b', currentJobId: 'a' });
  });
  it('Waiting, ABORT: sends ABORTED (from waiting), Ready', () => {
    expectStep(waiting, abort, 'ready', { type: 'aborted', from: 'waiting', jobId: 'a', settled: true });
  });
  it('Waiting, START with the same job: notes it, sends STARTED, executes, Running', () => {
    const { effects } = expectStep(waiting, start('a'), 'running', { type: 'started', jobId: 'a' });
    expect(kinds(effects)).toEqual(['cancel', 'remember', 'send', 'run']);
  });
  it('Waiting, START with another job: sends ERROR start failed, Waiting', () => {
    expectStep(waiting, start('b'), 'waiting', {
      type: 'error',
      jobId: 'b',
      reason: expect.stringContaining('start failed'),
    });
  });
  it('Waiting, ready period over: sends ERROR timeout, Ready', () => {
    const event: Event = { type: 'wait_over', jobId: 'a' };
    expectStep(waiting, event, 'ready', { type: 'error', jobId: 'a', reason: expect.stringContaining('timeout') });
  });
  it('Running, PREPARE: sends NACK, Running', () => {
    expectStep(running, prepare('b'), 'running', { type: 'nack', jobId: 'b', currentJobId: 'a' });
  });
  it('Running, ABORT: sends ABORTED, kills, Terminating', () => {
    const { effects } = expectStep(running, abort, 'terminating', { type: 'aborted', from: 'running', settled: false });
    expect(kinds(effects)).toContain('kill');
  });
  it('Running, START with the same job: sends STARTED, Running, and runs nothing', () => {
    const { effects } = expectStep(running, start('a'), 'running', { type: 'started', jobId: 'a' });
    expect(kinds(effects)).toEqual(['send']);
  });
  it("Running, START with another job: sends ERROR can't start, Running", () => {
    expectStep(running, start('b'), 'running', { type: 'error', jobId: 'b' });
  });
  it('Running, command succeeds: sends COMPLETED success, Ready', () => {
    expectStep(running, exited('a'), 'ready', { type: 'finished', jobId: 'a', outcome: 'succeeded' });
  });
  it('Running, command fails: sends COMPLETED failed, Ready', () => {
    expectStep(running, exited('a', 'failed'), 'ready', { type: 'finished', jobId: 'a', outcome: 'failed' });
  });
  it('Running, execution time limit exceeded: sends COMPLETED timed out, kills, Terminating', () => {
    const event: Event = { type: 'limit_reached', jobId: 'a', bytes: null };
    const { effects } = expectStep(running, event, 'terminating', { type: 'finished', outcome: 'timed_out' });
    expect(kinds(effects)).toContain('kill');
  });
  it('Terminating, PREPARE: sends NACK, Terminating', () => {
    expectStep(terminating, prepare('b'), 'terminating', { type: 'nack', jobId: 'b', currentJobId: 'a' });
  });
  it('Terminating, ABORT: sends ABORTED (terminating), Terminating', () => {
    expectStep(terminating, abort, 'terminating', { type: 'aborted', from: 'terminating', settled: false });
  });
  it("Terminating, START: sends ERROR can't start, Terminating", () => {
    expectStep(terminating, start('a'), 'terminating', { type: 'error', jobId: 'a' });
  });
  it('Terminating, command exits: Ready, and ready is sent', () => {
    expectStep(terminating, exited('a', 'failed'), 'ready', { type: 'ready', start: null });
  });
});

describe('beyond the table', () => {
  it('a started job with a time limit arms it', () => {
    const limited = inPhase({ kind: 'waiting', job: { ...job('a'), timeoutMs: 5000 } });
    expect(step(limited, start('a')).effects).toContainEqual({
      type: 'arm',
      timer: 'limit',
      afterMs: 5000,
      jobId: 'a',
    });
  });
  it('a START for the job that already finished is answered by its finished again (N12)', () => {
    const after = step(running, exited('a', 'failed')).machine;
    expectStep(after, start('a'), 'ready', { type: 'finished', jobId: 'a', outcome: 'failed' });
  });
  it('a START for the timed out job is answered by its finished again while it is being killed', () => {
    const after = step(running, { type: 'limit_reached', jobId: 'a', bytes: null }).machine;
    expectStep(after, start('a'), 'terminating', { type: 'finished', outcome: 'timed_out' });
  });
  it('a PREPARE for a job that already ran is refused', () => {
    const after = step(running, exited('a')).machine;
    expectStep(after, prepare('a'), 'ready', { type: 'nack', jobId: 'a' });
  });
  it('a PREPARE repeated while its command runs is acked again (N12)', () => {
    expectStep(running, prepare('a'), 'running', { type: 'ack', jobId: 'a' });
  });
  it('the options of a refused prepare never replace those of the current job', () => {
    const other: Event = { type: 'prepare', job: { ...job('b'), options: { user: 'root' } }, waitMs: 1, refusal: null };
    expect(step(waiting, other).machine.phase).toEqual(waiting.phase);
    const repeated: Event = { type: 'prepare', job: { ...job('a'), command: 'y' }, waitMs: 1, refusal: null };
    expect(step(waiting, repeated).machine.phase).toEqual(waiting.phase);
  });
  it('a job that has not begun is discarded when the server is lost (§4.3)', () => {
    expectStep(waiting, { type: 'server_lost' }, 'ready');
  });
  it('a running command goes on when the server is lost', () => {
    expectStep(running, { type: 'server_lost' }, 'running');
  });
  it('ready is sent when the server comes back to an idle agent, and not to a busy one (§7.4)', () => {
    expectStep(ready, { type: 'server_back' }, 'ready', { type: 'ready', start: null });
    expectStep(running, { type: 'server_back' }, 'running');
  });
  it('timers of an earlier job change nothing', () => {
    expectStep(waiting, { type: 'wait_over', jobId: 'old' }, 'waiting');
    expectStep(running, { type: 'limit_reached', jobId: 'old', bytes: null }, 'running');
  });
  it('a stopping agent fails its command and kills it', () => {
    const { effects } = expectStep(running, { type: 'stop' }, 'terminating', {
      outcome: 'failed',
      reason: 'agent stopped',
    });
    expect(kinds(effects)).toContain('kill');
  });
  it('heartbeats tell state and job', () => {
    expect(reportedState(waiting)).toEqual({ state: 'waiting', jobId: 'a' });
    expect(reportedState(terminating)).toEqual({ state: 'terminating', jobId: 'a' });
    expect(reportedState(initialMachine)).toEqual({ state: 'ready', jobId: null });
  });
});

describe('for any order of events', () => {
  const id = fc.constantFrom('a', 'b', 'c');
  const event: fc.Arbitrary<Event> = fc.oneof(
    id.map((jobId) => prepare(jobId)),
    id.map((jobId) => prepare(jobId, 'no')),
    id.map(start),
    fc.constant(abort),
    id.map((jobId): Event => ({ type: 'wait_over', jobId })),
    id.map((jobId): Event => ({ type: 'limit_reached', jobId, bytes: null })),
    fc.constantFrom<Event>(
      { type: 'server_lost' },
      { type: 'server_back' },
      { type: 'server_heard' },
      { type: 'stop' },
    ),
    fc.constant<Event>({ type: 'looked_back', start: 'clean', interrupted: null }),
    fc.constantFrom<CommandResult['outcome']>('succeeded', 'failed').map((outcome) => exited('?', outcome)),
  );

  /** The shell only tells of the end of a command that was started. */
  function play(events: readonly Event[]) {
    let machine = initialMachine;
    const steps: { readonly before: Machine; readonly event: Event; readonly effects: readonly Effect[] }[] = [];
    for (const raw of [{ type: 'looked_back', start: 'clean', interrupted: null } as const, ...events]) {
      const current = 'job' in machine.phase ? machine.phase.job.jobId : null;
      const next = raw.type === 'exited' && current !== null ? exited(current, raw.result.outcome) : raw;
      const result = step(machine, next);
      steps.push({ before: machine, event: next, effects: result.effects });
      machine = result.machine;
    }
    return steps;
  }

  it("a job's command is run at most once", () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        const runs = play(events).flatMap(({ effects }) =>
          effects.flatMap((e) => (e.type === 'run' ? [e.job.jobId] : [])),
        );
        expect(new Set(runs).size).toBe(runs.length);
      }),
    );
  });

  it('a command is run only after its job was acked, noted and told started', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        const acked = new Set<string | null>();
        for (const { effects } of play(events)) {
          for (const message of sent(effects)) if (message.type === 'ack') acked.add(message.jobId);
          const run = effects.find((effect) => effect.type === 'run');
          if (run?.type !== 'run') continue;
          expect(acked.has(run.job.jobId)).toBe(true);
          const order = kinds(effects);
          expect(order.indexOf('remember')).toBeLessThan(order.indexOf('send'));
          expect(order.indexOf('send')).toBeLessThan(order.indexOf('run'));
        }
      }),
    );
  });

  it('the terminal answer of a finished job repeats, unchanged, until another job ends', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        for (const { before } of play(events)) {
          if (before.last === null || before.phase.kind === 'pending') continue;
          const answers = sent(step(before, start(before.last.result.jobId)).effects);
          expect(answers).toEqual([
            { type: 'finished', ...before.last.result, output: null, bytes: before.last.bytes },
          ]);
        }
      }),
    );
  });

  it('every prepare, start and abort is answered by exactly one message once the server was heard', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        for (const { before, event: each, effects } of play(events)) {
          if (before.phase.kind === 'startup' || before.phase.kind === 'pending') continue;
          if (!['prepare', 'start', 'abort'].includes(each.type)) continue;
          expect(sent(effects)).toHaveLength(1);
        }
      }),
    );
  });
});
