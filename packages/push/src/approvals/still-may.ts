import type { Identity } from '@muster/platform/auth';
import { MusterError } from '../errors.js';

/**
 * Whether somebody may still have made or changed what they asked for. Answers what `check` does, or why they may not.
 * @throws what says nothing about it, such as `store_unavailable`: it is asked again
 */
export async function stillMay(
  asker: Pick<Identity, 'name'>,
  check: () => Promise<string | null>,
): Promise<string | null> {
  try {
    return await check();
  } catch (error) {
    if (!(error instanceof MusterError) || error.code === 'store_unavailable') throw error;
    return `${asker.name} may not make or change it any more`;
  }
}
