import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LIMITS } from '../../src/phases/limits.js';
import { watchQueued, watchRunning } from '../../src/phases/monitoring.js';
import { lookDelay, lookPause } from '../../src/phases/steps.js';
import { SystemTrouble } from '../../src/systems/types.js';
import { PlayedContext } from '../support/phase-context.js';

const RUNNING = { state: 'running' } as const;
const LOST = { state: 'lost' } as const;

describe('watching a program', () => {
  let played: PlayedContext;

  beforeEach(() => {
    played = new PlayedContext({ status: 'RUNNING', remoteJobId: 'r1', maxSeconds: 3600 });
    played.job = { ...played.job, remoteStarted: played.clock.now() };
    played.systems.get('hpc1').scheduler.state = RUNNING;
  });

  afterEach(() => played.close());

  /** Time passes in small steps, until the phase is over. */
  async function watched(phase: Promise<void>, stepMs = 1_000, most = 100_000): Promise<unknown> {
    let end: unknown = 'goes on';
    phase.then(
      () => (end = 'done'),
      (error: unknown) => (end = error),
    );
    for (let steps = 0; steps < most && end === 'goes on'; steps++) {
      for (let round = 0; round < 4; round++) await turn();
      played.clock.advance(stepMs);
    }
    return end;
  }

  test('§3.3: looks less and less often', () => {
    const delays = Array.from({ length: 300 }, (_, look) => lookDelay(look) / 1000);
    const at = (first: number, last: number) => [...new Set(delays.slice(first, last))];
    expect([at(0, 1), at(1, 6), at(6, 16), at(16, 116), at(116, 216), at(216, 300)]).toEqual([
      ...[[1], [10], [60], [180], [300], [600]],
    ]);
    expect(lookDelay(1_000_000)).toBe(600_000);
  });

  test('§3.3: those of many programs come at the same moments, none too soon and none more than a tenth too late', () => {
    for (const look of [0, 1, 5, 6, 15, 16, 115, 116, 215, 216, 1_000_000]) {
      const delay = lookDelay(look);
      const begun = Array.from({ length: 1000 }, (_, n) => 12_345.6 + n * 59.9);
      const pauses = begun.map((now) => lookPause(look, now));
      expect(Math.min(...pauses)).toBeGreaterThanOrEqual(delay);
      expect(Math.max(...pauses)).toBeLessThanOrEqual(delay * 1.1);
      const moments = new Set(begun.map((now, n) => Math.round(now + (pauses[n] ?? 0))));
      if (look > 0) expect(moments.size).toBeLessThanOrEqual(Math.ceil(60_000 / (delay / 10)) + 1);
    }
  });

  test('§3.3: a program that runs for longer than it may is ended', async () => {
    const { scheduler } = played.systems.get('hpc1');
    const begun = played.clock.now();
    const end = await watched(watchRunning(played.context));
    expect(end).toMatchObject({ condition: 'JOB_EXECUTION_MONITORING_TIMEOUT' });
    expect(scheduler.killed).toEqual(['j1']);
    const took = (played.clock.now() - begun) / 1000;
    expect(took).toBeGreaterThan(3600 + 600);
    expect(took).toBeLessThan(3600 + 600 + 200);
    expect(played.job).toMatchObject({ remoteOutcome: 'FAILED_SKIP_ARCHIVE', remoteEnded: expect.any(Number) });
  });

  test('§3.3: right after it was submitted it may be unknown for a while', async () => {
    played = new PlayedContext({ status: 'QUEUED', remoteJobId: 'r1' });
    const { scheduler } = played.systems.get('hpc1');
    scheduler.state = { state: 'lost' };
    scheduler.onLook = () => {
      if (scheduler.looks.length > LIMITS.lostLooks) scheduler.state = RUNNING;
    };
    expect(await watched(watchQueued(played.context), 500)).toBe('done');
    expect(played.job.status).toBe('RUNNING');
  });

  test('§9.2: EMPTY_STATUS_RESPONSE is told once for each time that the system begins to say nothing of it', async () => {
    const { scheduler } = played.systems.get('hpc1');
    const seen = [RUNNING, LOST, LOST, LOST, RUNNING, LOST, RUNNING];
    scheduler.onLook = () => {
      scheduler.state = seen.shift() ?? { state: 'ended', code: 0, condition: null, detail: '' };
    };
    expect(await watched(watchRunning(played.context))).toBe('done');
    const told = 'EMPTY_STATUS_RESPONSE: hpc1 says nothing of r1: it is asked again';
    expect(played.told).toEqual([told, told]);
  });

  test('§9.2: REMOTE_STATUS_CHANGE is told when its scheduler puts it back, and when it runs again', async () => {
    const { scheduler } = played.systems.get('hpc1');
    const QUEUED = { state: 'queued' } as const;
    const seen = [RUNNING, QUEUED, QUEUED, RUNNING, RUNNING];
    scheduler.onLook = () => {
      scheduler.state = seen.shift() ?? { state: 'ended', code: 0, condition: null, detail: '' };
    };
    expect(await watched(watchRunning(played.context))).toBe('done');
    expect(played.told).toEqual([
      'REMOTE_STATUS_CHANGE: hpc1 has put it back into its queue',
      'REMOTE_STATUS_CHANGE: It runs again',
    ]);
    expect(played.job.status).toBe('CLEANING_UP');
  });

  test('§3.3: one that stays unknown is given up', async () => {
    const { scheduler } = played.systems.get('hpc1');
    scheduler.state = { state: 'lost' };
    const end = await watched(watchRunning(played.context), 500);
    expect(end).toMatchObject({ condition: 'JOB_EXECUTION_MONITORING_ERROR' });
    expect(scheduler.looks).toHaveLength(LIMITS.lostLooks + 1);
  });

  test('§3.3: looks that fail for sixty minutes are too many', async () => {
    played.job = { ...played.job, maxSeconds: 1e6 };
    const begun = played.clock.now();
    played.systems.get('hpc1').scheduler.onLook = () => {
      throw new Error('rubbish');
    };
    const end = await watched(watchRunning(played.context));
    expect(end).toMatchObject({ condition: 'JOB_EXECUTION_MONITORING_ERROR_TIMEOUT' });
    expect(String(end)).toContain('TOO_MANY_FAILURES');
    expect((played.clock.now() - begun) / 60_000).toBeGreaterThan(60);
    expect(played.job.failedChecks).toBeGreaterThan(10);
  });

  describe('§2.7: JOB_QUEUE_MONITORING_ERROR of a program that waits in the batch queue', () => {
    const QUEUED = { state: 'queued' } as const;
    const begin = (): void => {
      played.job = { ...played.job, status: 'QUEUED', remoteStarted: null, remoteSubmitted: played.clock.now() };
      played.systems.get('hpc1').scheduler.state = QUEUED;
    };

    test('when looks fail for sixty minutes', async () => {
      begin();
      const begun = played.clock.now();
      played.systems.get('hpc1').scheduler.onLook = () => {
        throw new Error('rubbish');
      };
      const end = await watched(watchQueued(played.context));
      expect(end).toMatchObject({ name: 'Failed', condition: 'JOB_QUEUE_MONITORING_ERROR' });
      expect(String(end)).toContain('TOO_MANY_FAILURES');
      expect((played.clock.now() - begun) / 60_000).toBeGreaterThan(60);
      expect(played.job).toMatchObject({ status: 'QUEUED', remoteOutcome: 'FAILED_SKIP_ARCHIVE', remoteEnded: null });
    });

    test.each([
      ['ended', 'it was ended', expect.any(Number)],
      ['unsure', 'whether it ended is not certain', null],
    ] as const)('when it has waited for two weeks: its kill is %s', async (answer, says, remoteEnded) => {
      begin();
      const { scheduler } = played.systems.get('hpc1');
      scheduler.killAnswer = answer;
      const begun = played.clock.now();
      const end = await watched(watchQueued(played.context), 600_000);
      expect(end).toMatchObject({ condition: 'JOB_QUEUE_MONITORING_ERROR' });
      expect(String(end)).toContain(`TIME_EXPIRED it waited in the batch queue for too long: ${says}`);
      expect(scheduler.killed).toEqual(['j1']);
      expect((played.clock.now() - begun) / 86_400_000).toBeCloseTo(14, 0);
      expect(played.job).toMatchObject({ remoteOutcome: 'FAILED_SKIP_ARCHIVE', remoteEnded });
    });
  });

  test('§3.3: a connection that broke is tried once more, then it is a matter of recovery', async () => {
    const { scheduler } = played.systems.get('hpc1');
    const trouble = new SystemTrouble('hpc1', 'CONNECTION_FAILURE', 'it broke');
    scheduler.onLook = () => {
      throw trouble;
    };
    expect(await watched(watchRunning(played.context))).toBe(trouble);
    expect(scheduler.looks).toHaveLength(2);
    expect(played.job.remoteOutcome).toBeNull();
  });

  test('who is told looks at once', async () => {
    const { scheduler } = played.systems.get('hpc1');
    const phase = watchRunning(played.context);
    for (let round = 0; round < 5; round++) await turn();
    scheduler.set('j1', { state: 'ended', code: 3, condition: null, detail: '' });
    await phase;
    expect(played.job).toMatchObject({ status: 'CLEANING_UP', remoteOutcome: 'FAILED_SKIP_ARCHIVE', exitCode: 3 });
  });

  test.each([
    [0, null, false, 'FINISHED'],
    [1, null, false, 'FAILED_SKIP_ARCHIVE'],
    [1, null, true, 'FAILED'],
    [0, 'SCHEDULER_TIMEOUT', true, 'FAILED'],
  ] as const)(
    '§3.2: exit code %s, %s, archiveOnAppError %s: %s',
    async (code, condition, archiveOnAppError, outcome) => {
      played.job = { ...played.job, archiveOnAppError };
      played.systems.get('hpc1').scheduler.state = { state: 'ended', code, condition, detail: '' };
      await watchRunning(played.context);
      expect(played.job).toMatchObject({ remoteOutcome: outcome, remoteCondition: condition, status: 'CLEANING_UP' });
    },
  );

  test('looks that show nothing new are stored every five minutes, not each', async () => {
    played.job = { ...played.job, maxSeconds: 1e6 };
    const phase = watchRunning(played.context);
    const over = phase.catch(() => 'over');
    for (let second = 0; second < 3_600; second++) {
      for (let round = 0; round < 3; round++) await turn();
      played.clock.advance(1_000);
    }
    expect(played.notes.length).toBeLessThanOrEqual(12);
    expect(played.job.statusChecks).toBeGreaterThan(20);
    played.controller.abort(new Error('enough'));
    expect(await over).toBe('over');
  });
});
