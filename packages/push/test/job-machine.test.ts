import { describe, expect, it } from 'vitest';
import { EMPTY_TALLY, type JobRules, type JobState, NEW_JOB, stepJob, type Tally } from '../src/machine/job-machine.js';

const rules: JobRules = {
  quorum: 2,
  votingTimeout: 60,
  runTimeout: 100,
  concurrency: null,
  startRate: null,
  maxFailures: null,
  abortingTimeout: 50,
};
const voting: JobState = { ...NEW_JOB, phase: 'voting', status: 'voting', deadline: 60_000 };
const running: JobState = { ...NEW_JOB, phase: 'running', status: 'running', deadline: 160_000 };
const aborting: JobState = {
  ...running,
  phase: 'aborting',
  ending: 'aborted',
  reason: 'aborted by me',
  deadline: 50_000,
};
const tally = (some: Partial<Tally>): Tally => ({ ...EMPTY_TALLY, ...some });

describe('Push Jobs §5.6.2', () => {
  it('new: beginning asks the nodes and arms the voting timeout', () => {
    const { job, effects } = stepJob(NEW_JOB, tally({ new: 3 }), rules, { type: 'begin', now: 5000 });
    expect(job).toMatchObject({ phase: 'voting', status: 'voting', deadline: 65_000 });
    expect(effects).toEqual([{ type: 'ask' }]);
  });

  it('voting: loading state asks the nodes again and gives them time to reconnect', () => {
    const { job, effects } = stepJob(voting, tally({ new: 3 }), rules, { type: 'load', now: 70_000, graceMs: 20_000 });
    expect(job.deadline).toBe(90_000);
    expect(effects).toEqual([{ type: 'ask' }]);
  });

  it('voting: reaching the quorum does not start while a vote is outstanding (N9)', () => {
    const { job, effects } = stepJob(voting, tally({ new: 1, ready: 2 }), rules, { type: 'tallied', now: 0 });
    expect([job, effects]).toEqual([voting, []]);
  });

  it('voting: quorum success when all have voted starts the ready nodes', () => {
    const { job, effects } = stepJob(voting, tally({ ready: 2 }), rules, { type: 'tallied', now: 1000 });
    expect(job).toMatchObject({ phase: 'running', status: 'running', deadline: 101_000 });
    expect(effects).toEqual([
      { type: 'announce', name: 'quorum_succeeded' },
      { type: 'start', count: 2 },
    ]);
  });

  it('voting: quorum failure when all have voted aborts', () => {
    const { job, effects } = stepJob(voting, tally({ ready: 1 }), rules, { type: 'tallied', now: 1000 });
    expect(job).toMatchObject({ phase: 'aborting', status: 'voting', ending: 'quorum_failed', deadline: 51_000 });
    expect(job.reason).toBe(`1 node was ready, and ${rules.quorum} are needed`);
    expect(effects).toEqual([{ type: 'abort_nodes' }]);
  });

  it('voting: the voting timeout with a quorum starts what is ready', () => {
    const { job, effects } = stepJob(voting, tally({ new: 5, ready: 2 }), rules, { type: 'deadline', now: 60_000 });
    expect(job.phase).toBe('running');
    expect(effects.map((effect) => effect.type)).toEqual(['expire_votes', 'announce', 'start']);
  });

  it('voting: the voting timeout without a quorum aborts', () => {
    const { job, effects } = stepJob(voting, tally({ new: 5, ready: 1 }), rules, { type: 'deadline', now: 60_000 });
    expect(job).toMatchObject({ phase: 'aborting', ending: 'quorum_failed' });
    expect(effects.map((effect) => effect.type)).toEqual(['expire_votes', 'abort_nodes']);
  });

  it('voting: what is waited for is not counted as missing, and decides when the quorum hangs on it', () => {
    const all = { type: 'tallied', now: 1000 } as const;
    expect(stepJob(voting, tally({ ready: 2, waiting: 1 }), rules, all).job.phase).toBe('running');
    expect(stepJob(voting, tally({ ready: 1, waiting: 1 }), rules, all)).toEqual({ job: voting, effects: [] });
    expect(stepJob(voting, tally({ waiting: 1 }), rules, all).job).toMatchObject({ ending: 'quorum_failed' });
  });

  it('voting: the voting timeout ends it only without those that are waited for', () => {
    const expired = stepJob(voting, tally({ new: 5, ready: 1, waiting: 1 }), rules, { type: 'deadline', now: 60_000 });
    expect(expired.job).toEqual({ ...voting, deadline: null });
    expect(expired.effects).toEqual([{ type: 'expire_votes' }]);
    const late = { type: 'tallied', now: 90_000 } as const;
    expect(stepJob(expired.job, tally({ new: 5, ready: 2 }), rules, late).job.phase).toBe('running');
    expect(stepJob(expired.job, tally({ new: 5, ready: 1 }), rules, late).job.ending).toBe('quorum_failed');
  });

  it('running: a node that is waited for keeps the job open, but not once too many have failed', () => {
    const now = { type: 'tallied', now: 1000 } as const;
    expect(stepJob(running, tally({ waiting: 1 }), rules, now)).toEqual({ job: running, effects: [] });
    const stopped = stepJob(running, tally({ waiting: 1, failures: 1 }), { ...rules, maxFailures: 0 }, now);
    expect(stopped.effects).toMatchObject([{ type: 'stop_starting' }]);
  });

  it('voting: a quorum of none runs straight to complete (sheet §6.2)', () => {
    const none = { ...rules, quorum: 0 };
    const decided = stepJob(voting, tally({}), none, { type: 'tallied', now: 0 });
    const ended = stepJob(decided.job, tally({}), none, { type: 'tallied', now: 0 });
    expect(ended.job.status).toBe('complete');
  });

  it('running: loading state starts what is ready', () => {
    const { effects } = stepJob(running, tally({ ready: 2 }), rules, { type: 'load', now: 0, graceMs: 1 });
    expect(effects).toEqual([{ type: 'start', count: 2 }]);
  });

  it('running: all nodes exited finishes it, whoever never voted', () => {
    const { job, effects } = stepJob(running, tally({ new: 4 }), rules, { type: 'tallied', now: 0 });
    expect(job).toMatchObject({ phase: 'finished', status: 'complete', deadline: null });
    expect(effects).toEqual([{ type: 'close' }, { type: 'announce', name: 'job_complete' }]);
  });

  it('running: the execution timeout aborts', () => {
    const { job, effects } = stepJob(running, tally({ running: 1 }), rules, { type: 'deadline', now: 160_000 });
    expect(job).toMatchObject({ phase: 'aborting', status: 'running', ending: 'timed_out' });
    expect(effects).toEqual([{ type: 'abort_nodes' }]);
  });

  it('aborting: all nodes exited finishes it', () => {
    const { job } = stepJob(aborting, tally({}), rules, { type: 'tallied', now: 0 });
    expect(job).toMatchObject({ phase: 'finished', status: 'aborted', reason: 'aborted by me' });
  });

  it('aborting: a node that may still run keeps it open', () => {
    const { job } = stepJob(aborting, tally({ starting: 1 }), rules, { type: 'tallied', now: 0 });
    expect(job).toBe(aborting);
  });

  it('aborting: the aborting timeout finishes it regardless', () => {
    const { job } = stepJob(aborting, tally({ running: 3 }), rules, { type: 'deadline', now: 50_000 });
    expect(job).toMatchObject({ phase: 'finished', status: 'aborted' });
  });

  it('aborting: a second abort changes nothing (N7)', () => {
    expect(stepJob(aborting, tally({ running: 1 }), rules, { type: 'abort', now: 0, reason: 'x' }).job).toBe(aborting);
  });

  it('finished: stays as it is', () => {
    const done: JobState = { ...running, phase: 'finished', status: 'complete', deadline: null };
    for (const type of ['tallied', 'deadline', 'wake', 'begin'] as const) {
      expect(stepJob(done, tally({ ready: 1 }), rules, { type, now: 0 })).toEqual({ job: done, effects: [] });
    }
  });
});

describe('limits on starting (Push Jobs §5.3, §8.1.4)', () => {
  it('starts no more nodes than the concurrency limit leaves free', () => {
    const limited = { ...rules, concurrency: 5 };
    const { effects } = stepJob(running, tally({ ready: 9, starting: 1, running: 2 }), limited, {
      type: 'tallied',
      now: 0,
    });
    expect(effects).toEqual([{ type: 'start', count: 2 }]);
  });

  it('starts at the rate asked for and comes back for the rest', () => {
    const limited = { ...rules, startRate: 2 };
    const first = stepJob({ ...running, nextStartAt: 1000 }, tally({ ready: 5 }), limited, {
      type: 'tallied',
      now: 1000,
    });
    expect(first.effects).toEqual([
      { type: 'start', count: 1 },
      { type: 'wake_at', at: 1500 },
    ]);
    const early = stepJob(first.job, tally({ ready: 4, running: 1 }), limited, { type: 'tallied', now: 1200 });
    expect(early.effects).toEqual([{ type: 'wake_at', at: 1500 }]);
    expect(early.job).toBe(first.job);
  });

  it('does not last longer than its timeout after a restart when the clock was set back', () => {
    const { job } = stepJob({ ...running, deadline: 10_000_000 }, tally({ running: 1 }), rules, {
      type: 'load',
      now: 0,
      graceMs: 1000,
    });
    expect(job.deadline).toBe(rules.runTimeout * 1000);
  });

  it('goes on at its rate when the clock is set back', () => {
    const limited = { ...rules, startRate: 2 };
    const { effects } = stepJob({ ...running, nextStartAt: 100_000 }, tally({ ready: 5 }), limited, {
      type: 'wake',
      now: 1000,
    });
    expect(effects).toEqual([{ type: 'wake_at', at: 1500 }]);
  });

  it('does not save up starts while other limits hold it back', () => {
    const limited = { ...rules, startRate: 10 };
    const { effects } = stepJob({ ...running, nextStartAt: 0 }, tally({ ready: 50 }), limited, {
      type: 'tallied',
      now: 60_000,
    });
    expect(effects[0]).toEqual({ type: 'start', count: 2 });
  });

  it('stops starting after more failures than allowed, and lets the running ones end', () => {
    const limited = { ...rules, maxFailures: 1 };
    const allowed = stepJob(running, tally({ ready: 3, running: 1, failures: 1 }), limited, {
      type: 'tallied',
      now: 0,
    });
    expect(allowed.effects).toEqual([{ type: 'start', count: 3 }]);
    const over = stepJob(running, tally({ ready: 3, running: 1, failures: 2 }), limited, { type: 'tallied', now: 0 });
    expect(over.effects.map((effect) => effect.type)).toEqual(['stop_starting']);
    const waiting = stepJob(over.job, tally({ running: 1, failures: 2 }), limited, { type: 'tallied', now: 0 });
    expect(waiting.job.phase).toBe('running');
  });

  it('a node that votes after the starting has stopped is not started either, and keeps no job open', () => {
    const limited = { ...rules, maxFailures: 1 };
    const stopped = { ...running, stopped: true, reason: 'not started: 2 nodes failed, 1 allowed' };
    const late = stepJob(stopped, tally({ ready: 1, failures: 2 }), limited, { type: 'tallied', now: 0 });
    expect(late.effects).toEqual([{ type: 'stop_starting', reason: stopped.reason }]);
    const over = stepJob(late.job, tally({ failures: 2 }), limited, { type: 'tallied', now: 0 });
    expect(over.job.status).toBe('complete');
  });
});

describe('batches', () => {
  const now = 1000;
  const tallied = { type: 'tallied', now } as const;
  const on = { type: 'continue', now } as const;
  const some: JobRules = { ...rules, batches: [1, 2] };
  const stage = { batch: 1, left: 0, hold: null, until: null, excused: 0 } as const;
  const batch = { type: 'announce', name: 'batch' } as const;
  const running1: JobState = { ...running, stage };

  it('the quorum is that of all, and the first batch is started', () => {
    const { job, effects } = stepJob(voting, tally({ ready: 5 }), some, tallied);
    expect(job.stage).toEqual(stage);
    expect(effects).toEqual([{ type: 'announce', name: 'quorum_succeeded' }, batch, { type: 'start', count: 1 }]);
  });

  it('the next one follows when the one before has ended, the last size again and again', () => {
    expect(stepJob(running1, tally({ ready: 4, running: 1 }), some, tallied)).toEqual({ job: running1, effects: [] });
    const second = stepJob(running1, tally({ ready: 4 }), some, tallied);
    expect(second.effects).toEqual([batch, { type: 'start', count: 2 }]);
    const third = stepJob(second.job, tally({ ready: 2 }), some, tallied);
    expect(third.job.stage).toMatchObject({ batch: 3, left: 0 });
    expect(stepJob(third.job, tally({}), some, tallied).job).toMatchObject({ status: 'complete', reason: null });
  });

  it('other limits hold within a batch', () => {
    const narrow = { ...some, batches: [3], concurrency: 2 };
    const first = stepJob(voting, tally({ ready: 5 }), narrow, tallied);
    expect(first.job.stage?.left).toBe(1);
    const more = stepJob(first.job, tally({ ready: 3, running: 1 }), narrow, tallied);
    expect(more.effects).toEqual([{ type: 'start', count: 1 }]);
  });

  it('a pause is between the end of a batch and the next start, also after a restart, whatever the clock does', () => {
    const pausing = { ...some, batchPause: 30 };
    const held = stepJob(running1, tally({ ready: 4 }), pausing, tallied);
    expect(held.job.stage).toEqual({ ...stage, hold: 'pause', until: 31_000 });
    expect(held.effects).toEqual([batch, { type: 'wake_at', at: 31_000 }]);
    const load = { type: 'load', now: 2000, graceMs: 0 } as const;
    expect(stepJob(held.job, tally({ ready: 4 }), pausing, load).effects).toEqual([{ type: 'wake_at', at: 31_000 }]);
    const back = { type: 'wake', now: -50_000 } as const;
    expect(stepJob(held.job, tally({ ready: 4 }), pausing, back).effects).toEqual([{ type: 'wake_at', at: -20_000 }]);
    const over = stepJob(held.job, tally({ ready: 4 }), pausing, { type: 'wake', now: 31_000 });
    expect(over.effects).toEqual([batch, { type: 'start', count: 2 }]);
    expect(stepJob(held.job, tally({ ready: 4 }), pausing, on).effects).toEqual([batch, { type: 'start', count: 2 }]);
  });

  it('with confirmation the next batch waits for somebody, and ends with the run timeout', () => {
    const asking = { ...some, batchConfirm: true } as const;
    const held = stepJob(running1, tally({ ready: 4 }), asking, tallied);
    expect(held.job).toMatchObject({ stage: { hold: 'confirm' }, reason: expect.stringContaining('batch 1') });
    expect(stepJob(held.job, tally({ ready: 4 }), asking, tallied)).toEqual({ job: held.job, effects: [] });
    const next = stepJob(held.job, tally({ ready: 4 }), asking, on);
    expect(next.job).toMatchObject({ stage: { batch: 2, hold: null }, reason: null });
    expect(next.effects).toEqual([batch, { type: 'start', count: 2 }]);
    expect(stepJob(held.job, tally({ ready: 4 }), asking, { type: 'deadline', now }).job.ending).toBe('timed_out');
    expect(stepJob(held.job, tally({}), asking, tallied).job).toMatchObject({ status: 'complete', reason: null });
  });

  it('nothing is continued that is not held', () => {
    for (const job of [NEW_JOB, voting, running, running1, aborting]) {
      expect(stepJob(job, tally({ ready: 1, running: 1 }), some, on)).toEqual({ job, effects: [] });
    }
  });
});

describe('too many failures', () => {
  const tallied = { type: 'tallied', now: 1000 } as const;
  const braked = { ...rules, maxFailures: 1, concurrency: 1 };

  it('hold: nothing is started until it is continued, and then as many more may fail', () => {
    const holding = { ...braked, onFailures: 'hold' } as const;
    const held = stepJob(running, tally({ ready: 3, failures: 2 }), holding, tallied);
    expect(held.job).toMatchObject({
      stopped: false,
      reason: '2 nodes failed, 1 allowed',
      stage: { hold: 'failures' },
    });
    expect(stepJob(held.job, tally({ ready: 3, failures: 2 }), holding, tallied).effects).toEqual([]);
    const gone = stepJob(held.job, tally({ ready: 3, failures: 2 }), holding, { type: 'continue', now: 2000 });
    expect(gone.job).toMatchObject({ reason: null, stage: { hold: null, excused: 2 } });
    expect(gone.effects).toEqual([
      { type: 'announce', name: 'batch' },
      { type: 'start', count: 1 },
    ]);
    expect(stepJob(gone.job, tally({ ready: 2, failures: 3 }), holding, tallied).effects).toEqual([
      { type: 'start', count: 1 },
    ]);
    expect(stepJob(gone.job, tally({ ready: 2, failures: 4 }), holding, tallied).job.reason).toBe(
      '2 more nodes failed, 1 allowed',
    );
  });

  it('hold: whoever continues after the failures of a batch has confirmed the next one, too', () => {
    const asking = { ...braked, onFailures: 'hold', batches: [2], batchConfirm: true } as const;
    const first = stepJob(voting, tally({ ready: 4 }), { ...asking, concurrency: null }, tallied).job;
    const held = stepJob(first, tally({ ready: 2, failures: 2 }), asking, tallied).job;
    expect(held.stage).toMatchObject({ batch: 1, hold: 'failures' });
    const next = stepJob(held, tally({ ready: 2, failures: 2 }), asking, { type: 'continue', now: 2000 }).job;
    expect(next.stage).toMatchObject({ batch: 2, hold: null });
  });

  it('abort: what runs is aborted, too', () => {
    const aborts = { ...braked, onFailures: 'abort' } as const;
    const { job, effects } = stepJob(running, tally({ ready: 3, running: 1, failures: 2 }), aborts, tallied);
    expect(job).toMatchObject({ phase: 'aborting', ending: 'aborted', reason: '2 nodes failed, 1 allowed' });
    expect(effects).toEqual([{ type: 'abort_nodes' }]);
  });

  it.each(['hold', 'abort'] as const)('%s: a job of which nothing is left is complete', (onFailures) => {
    const over = stepJob(running, tally({ failures: 2 }), { ...braked, onFailures }, tallied);
    expect(over.job).toMatchObject({ status: 'complete', reason: null });
  });
});
