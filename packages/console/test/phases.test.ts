import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Phase, phasesOf } from '../src/jobs/phases.js';
import { hasEnded, STATUSES } from '../src/statuses/jobs.js';

const START = Date.parse('2026-11-23T11:00:00.000Z');
const entry = (status: string, seconds: number) => ({
  id: String(seconds),
  status,
  created: new Date(START + seconds * 1000).toISOString(),
  createdBy: 'alice',
  description: `it became ${status}`,
});
const shown = (phases: readonly Phase[]) => phases.map(({ status, ms }) => [status, ms]);

describe('the phases of a job', () => {
  it('are what it went through, each with its time, and what is before it', () => {
    const history = [entry('ACCEPTED', 0), entry('PENDING', 1), entry('RUNNING', 3), entry('BLOCKED', 63)];
    expect(shown(phasesOf(history))).toEqual([
      ['ACCEPTED', 1000],
      ['PENDING', 2000],
      ['RUNNING', 60_000],
      ['BLOCKED', null],
      ['CLEANING_UP', null],
      ['ARCHIVING', null],
      ['FINISHED', null],
    ]);
  });

  it('have nothing before them when it has ended', () => {
    expect(shown(phasesOf([entry('ACCEPTED', 0), entry('STOPPED', 5)]))).toEqual([
      ['ACCEPTED', 5000],
      ['STOPPED', null],
    ]);
  });

  it('leave out what history has besides, and a status that is told twice', () => {
    const history = [entry('ACCEPTED', 0), entry('PERMISSION_GRANT', 1), entry('ACCEPTED', 2), entry('FAILED', 4)];
    expect(shown(phasesOf(history))).toEqual([
      ['ACCEPTED', 4000],
      ['FAILED', null],
    ]);
  });

  it('take together as long as the job did, whatever it went through', () => {
    const steps = fc.array(fc.tuple(fc.constantFrom(...STATUSES), fc.nat(1000)), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(steps, (drawn) => {
        let at = 0;
        const history = drawn.map(([status, seconds]) => {
          at += seconds;
          return entry(status, at);
        });
        const phases = phasesOf(history);
        const been = phases.filter(({ from }) => from !== null);
        const [first] = been;
        const last = been.at(-1);
        const total = been.reduce((sum, { ms }) => sum + (ms ?? 0), 0);
        expect(total).toBe((last?.from ?? 0) - (first?.from ?? 0));
        expect(last?.status).toBe(history.at(-1)?.status);
        if (hasEnded(last?.status ?? '')) expect(phases).toEqual(been);
        else expect(phases.at(-1)).toMatchObject({ status: 'FINISHED', from: null });
      }),
    );
  });
});
