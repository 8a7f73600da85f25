import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { obstacle } from '../../src/recovery/conditions/index.js';
import { recoveryReaderSuite } from '../suites/recovery-reader.js';
import { openRecovery, type RecoveryFixture } from '../support/recovery.js';

recoveryReaderSuite(openRecovery, { whole: true });

const MINUTE = 60_000;
const DOWN = obstacle('CONNECTION_FAILURE', 'hpc1 cannot be reached', { systemId: 'hpc1' });

describe('many jobs that are blocked', () => {
  let fixture: RecoveryFixture;
  beforeEach(async () => {
    fixture = await openRecovery();
  });
  afterEach(() => fixture.close());

  it('of 10,000 of ten conditions goes on with as many tests as there are conditions', async () => {
    const many = Number(process.env.MUSTER_TEST_BLOCKED ?? 10_000);
    fixture.listen();
    fixture.systems.trouble.clear();
    const now = fixture.jobs.clock.now();
    const at = (n: number) => ({ ...DOWN, parameters: { systemId: `hpc${n % 10}` } });
    await fixture.many(many, at);
    await fixture.start();
    await expect
      .poll(async () => (await fixture.records()).every((row) => row.next_attempt === now + MINUTE))
      .toBe(true);
    fixture.jobs.clock.advance(MINUTE);
    await expect.poll(() => fixture.submitted.length, { timeout: 150_000 }).toBe(many);
    await fixture.empty();
    expect(fixture.systems.opened.toSorted()).toEqual(Array.from({ length: 10 }, (_, n) => `hpc${n}`));
    expect(new Set(fixture.submitted.map(({ job }) => job)).size).toBe(many);
  });
});
