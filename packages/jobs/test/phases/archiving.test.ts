import { chmodSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { archive } from '../../src/phases/archiving.js';
import type { Job } from '../../src/types.js';
import { PlayedContext } from '../support/phase-context.js';

describe('outputs', () => {
  let played: PlayedContext;

  const begin = (given: Partial<Job>): void => {
    played = new PlayedContext({
      status: 'ARCHIVING',
      archive: true,
      archiveSystem: 'store',
      archivePath: 'kept',
      remoteOutcome: 'FINISHED',
      ...given,
    });
  };
  const kept = (name: string): string => join(played.systems.get('store').system.root, 'kept', name);
  const made = (name: string, text = 'x', mode = 0o644): void => {
    const path = join(played.job.workPath ?? '', name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    chmodSync(path, mode);
  };

  afterEach(() => played.close());

  test('are archived with their permissions, without inputs, what the app brought and what is Muster’s', async () => {
    begin({});
    made('out/run.sh', 'x', 0o755);
    for (const name of ['in.txt', 'lib/big', '.muster-exit']) made(name);
    made('.agave.archive', 'in.txt\n./lib/\n');
    await archive(played.context);
    expect(statSync(kept('out/run.sh')).mode & 0o777).toBe(0o755);
    for (const name of ['in.txt', 'lib', '.muster-exit', '.agave.archive']) expect(existsSync(kept(name))).toBe(false);
    expect(played.job).toMatchObject({ status: 'FINISHED', condition: 'NORMAL_COMPLETION' });
  });

  test.each([
    ['FAILED', true, true],
    ['FAILED_SKIP_ARCHIVE', true, false],
    ['FAILED', false, false],
  ] as const)(
    '§3.2: of outcome %s, archive %s: archived %s, and the job has failed',
    async (remoteOutcome, wanted, is) => {
      begin({ remoteOutcome, archive: wanted, exitCode: 3 });
      made('out.txt');
      await archive(played.context);
      expect(existsSync(kept('out.txt'))).toBe(is);
      expect(played.job).toMatchObject({ status: 'FAILED', condition: 'JOB_REMOTE_OUTCOME_ERROR' });
      expect(played.changes[0]?.message).toBe(
        'APPS_USER_APP_FAILURE Failure indicated with user application return code: 3',
      );
    },
  );

  test('the scheduler’s reason is the job’s', async () => {
    begin({ remoteOutcome: 'FAILED_SKIP_ARCHIVE', remoteCondition: 'SCHEDULER_TIMEOUT', remoteDetail: 'TIMEOUT 0:0' });
    await archive(played.context);
    expect(played.job.condition).toBe('SCHEDULER_TIMEOUT');
    expect(played.changes[0]?.message).toContain('by SCHEDULER_TIMEOUT (TIMEOUT 0:0)');
  });

  test('a work directory that is gone is a failure, not an empty archive', async () => {
    begin({});
    await expect(archive(played.context)).rejects.toMatchObject({ condition: 'JOB_ARCHIVING_FAILED' });
  });
});
