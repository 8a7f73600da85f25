import { afterEach } from 'vitest';
import type { Cluster } from './cluster.js';

/**
 * What holds in every test of faults, whatever breaks: the server never ends by itself, and answers no request with 500.
 * Checked after each test of the file.
 */
export function neverHarmed(cluster: () => Cluster): void {
  afterEach(() => {
    const harm = cluster().harm();
    if (harm.length > 0) throw new Error(harm.join('\n'));
  });
}
