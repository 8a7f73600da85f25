/**
 * Tests that draw values draw the same in every run, so that a run tells of the code and not of luck.
 * MUSTER_TEST_SEED=random draws others (null), MUSTER_TEST_SEED=N those of the seed that a failure named.
 */
export function testSeed(): number | null {
  const given = process.env.MUSTER_TEST_SEED ?? '1';
  if (given === 'random') return null;
  const seed = Number(given);
  if (!Number.isInteger(seed)) throw new Error(`MUSTER_TEST_SEED must be a whole number or 'random', got '${given}'`);
  return seed;
}
