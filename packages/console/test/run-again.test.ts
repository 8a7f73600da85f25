import { describe, expect, it } from 'vitest';
import { leftOut, wishAgain } from '../src/push/run-again.js';

const JOB = { id: 'a1', command: 'deploy', run_timeout: 60 };

describe('an earlier job, run again', () => {
  it('is as it was, where the form can say it', () => {
    expect(wishAgain({ ...JOB, user: 'nobody', dir: '/srv', concurrency: 2, max_failures: 0 })).toEqual({
      command: 'deploy',
      user: 'nobody',
      dir: '/srv',
      concurrency: '2',
      maxFailures: '0',
      timeout: '60',
    });
    expect(wishAgain(JOB)).toMatchObject({ user: '', dir: '', concurrency: '', maxFailures: '' });
  });

  it('says what the form leaves out, and the command that does not', () => {
    expect(leftOut(JOB)).toBeNull();
    expect(leftOut({ ...JOB, file_specified: false })).toBeNull();
    expect(leftOut({ ...JOB, env: { A: '1' }, file_specified: true, batches: [1] })).toEqual({
      what: 'variables, a file, batches',
      command: 'muster push rerun a1',
    });
  });
});
