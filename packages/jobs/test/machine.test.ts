import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type JobState, mayGo, stepJob, transitionText } from '../src/machine.js';
import { isActive, isTerminal, STATUSES, type Status, statusText } from '../src/status.js';

const NEW: JobState = {
  status: 'ACCEPTED',
  resumeAt: null,
  blockedCount: 0,
  created: null,
  remoteSubmitted: null,
  remoteStarted: null,
  ended: null,
  condition: null,
};

/** Sheet §2.4, row by row; ACCEPTED may be stopped (J5). */
const ROWS: Readonly<Record<Status, string>> = {
  ACCEPTED: 'PENDING STOPPED FAILED',
  PENDING: 'PENDING PROCESSING_INPUTS BLOCKED PAUSED STOPPED FAILED',
  PROCESSING_INPUTS: 'PROCESSING_INPUTS STAGING_INPUTS STAGING_JOB BLOCKED PAUSED STOPPED FAILED',
  STAGING_INPUTS: 'STAGING_INPUTS STAGED BLOCKED PAUSED STOPPED FAILED',
  STAGED: 'STAGED STAGING_JOB BLOCKED PAUSED STOPPED FAILED',
  STAGING_JOB: 'STAGING_JOB SUBMITTING BLOCKED PAUSED STOPPED FAILED',
  SUBMITTING: 'SUBMITTING QUEUED RUNNING BLOCKED PAUSED STOPPED FAILED',
  QUEUED: 'QUEUED RUNNING CLEANING_UP BLOCKED PAUSED STOPPED FAILED',
  RUNNING: 'RUNNING CLEANING_UP BLOCKED PAUSED STOPPED FAILED',
  CLEANING_UP: 'CLEANING_UP ARCHIVING FINISHED BLOCKED PAUSED STOPPED FAILED',
  ARCHIVING: 'ARCHIVING FINISHED BLOCKED PAUSED STOPPED FAILED',
  BLOCKED:
    'PENDING PROCESSING_INPUTS STAGING_INPUTS STAGED STAGING_JOB SUBMITTING QUEUED RUNNING CLEANING_UP ARCHIVING PAUSED FINISHED STOPPED FAILED',
  PAUSED:
    'PENDING PROCESSING_INPUTS STAGING_INPUTS STAGED STAGING_JOB SUBMITTING QUEUED RUNNING CLEANING_UP ARCHIVING FINISHED STOPPED FAILED',
  FINISHED: '',
  STOPPED: '',
  FAILED: '',
};

describe('the machine of a job', () => {
  it.each(STATUSES)('goes from %s where the table says, and nowhere else (sheet §2.4)', (from) => {
    const allowed = STATUSES.filter((to) => mayGo(from, to));
    expect([...allowed].sort()).toEqual(ROWS[from].split(' ').filter(Boolean).sort());
  });

  it('keeps its times, its count of blocks and where it goes on, on any way (sheet §2.6)', () => {
    const ways = fc.array(fc.constantFrom(...STATUSES), { maxLength: 60 });
    fc.assert(
      fc.property(ways, (way) => {
        let job = NEW;
        let blocks = 0;
        let now = 1000;
        for (const to of way) {
          now += 1;
          const before = job;
          const next = stepJob(job, { to }, now);
          if ('refused' in next) {
            expect(mayGo(before.status, to)).toBe(false);
            continue;
          }
          if (to === 'BLOCKED') blocks += 1;
          job = next;
          for (const time of ['created', 'remoteSubmitted', 'remoteStarted'] as const) {
            if (before[time] !== null) expect(job[time]).toBe(before[time]);
          }
          expect(job.ended !== null).toBe(isTerminal(job.status));
          expect(job.resumeAt !== null).toBe((to === 'BLOCKED' || to === 'PAUSED') && job.created !== null);
          if (isActive(before.status) && job.resumeAt !== null) expect(job.resumeAt).toBe(before.status);
          expect(isTerminal(before.status)).toBe(false);
        }
        expect(job.blockedCount).toBe(blocks);
      }),
    );
  });

  it('says why it ended, also where nobody said so', () => {
    const ended = (to: Status) => stepJob({ ...NEW, status: 'ARCHIVING' }, { to }, 5);
    expect(ended('FINISHED')).toMatchObject({ condition: 'NORMAL_COMPLETION', ended: 5 });
    expect(ended('STOPPED')).toMatchObject({ condition: 'CANCELLED_BY_USER' });
    expect(ended('FAILED')).toMatchObject({ condition: 'JOB_INTERNAL_ERROR' });
  });

  it('has a message where nobody gave one, in the form of Aloe (sheet §2.5); people are told what the status means instead', () => {
    const message = transitionText('QUEUED', 'RUNNING');
    expect(message).toBe('Transitioning from status QUEUED to RUNNING in phase MONITORING.');
    expect(transitionText('BLOCKED', 'STOPPED')).toBe('Transitioning from status BLOCKED to STOPPED.');
    expect(statusText('RUNNING', message)).toBe('Job running on execution system');
    expect(statusText('FAILED', 'no such input')).toBe('no such input');
  });
});
