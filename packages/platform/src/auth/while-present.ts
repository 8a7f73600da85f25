import { GuardFailed } from '@muster/store';
import { MusterError } from '../errors.js';
import type { Organization } from './types.js';

/**
 * An organization may be deleted while a request to it is on its way: work whose only guard is `organizations.present` fails so then.
 * @throws MusterError `organization_not_found`
 */
export async function whilePresent<T>({ name }: Pick<Organization, 'name'>, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof GuardFailed) throw new MusterError('organization_not_found', { organization: name });
    throw error;
  }
}
