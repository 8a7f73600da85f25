import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { WorkerFixture } from '../support/worker-fixture.js';

export function lifecycleSuite(open: () => Promise<WorkerFixture>): void {
  describe('a job from its message to its end', () => {
    let fixture: WorkerFixture;

    beforeEach(async () => {
      fixture = await open();
    });

    afterEach(() => fixture.close());

    test('goes through every status in its order, and its message goes at the end', async () => {
      const store = fixture.systems.get('store').system.root;
      mkdirSync(join(store, 'in'), { recursive: true });
      writeFileSync(join(store, 'in', 'a.txt'), 'words');
      fixture.scheduler.onSubmit = ({ workDirectory }) => writeFileSync(join(workDirectory, 'result.txt'), 'made');
      await fixture.process();
      await fixture.submit('j1', {
        inputs: { query: 'agave://store/in/a.txt' },
        archive: true,
        archiveSystem: 'store',
        archivePath: 'kept/${JOB_NAME}',
      });
      const job = await fixture.status('j1', 'FINISHED');
      const statuses = (await fixture.history('j1')).map((line) => line.split(':')[0]);
      expect(statuses).toEqual([
        ...['ACCEPTED', 'PENDING', 'PROCESSING_INPUTS', 'STAGING_INPUTS', 'STAGED', 'STAGING_JOB', 'SUBMITTING'],
        ...['QUEUED', 'CLEANING_UP', 'ARCHIVING', 'FINISHED'],
      ]);
      expect(job).toMatchObject({
        archivePath: 'kept/demo',
        exitCode: 0,
        remoteOutcome: 'FINISHED',
        remoteJobId: 'r1',
      });
      expect(readFileSync(join(store, 'kept/demo/result.txt'), 'utf8')).toBe('made');
      await fixture.until(async () => (await fixture.depth()) === 0);
    });
  });
}
