import { afterEach } from 'vitest';

/** What was started, and what it must never come to. */
interface Harmed {
  harm(): readonly string[];
}

/**
 * What holds in every test of faults, whatever breaks: no process ends by itself, and no request is answered with 500.
 * Checked after each test of the file.
 */
export function neverHarmed(...those: readonly (() => Harmed)[]): void {
  afterEach(() => {
    const harm = those.flatMap((one) => one().harm());
    if (harm.length > 0) throw new Error(harm.join('\n'));
  });
}
