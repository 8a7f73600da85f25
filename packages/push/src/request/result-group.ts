import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { MusterError } from '../errors.js';
import { groupResults, resultRows } from '../repository/results.js';
import { invalid } from './fields.js';

/**
 * The nodes of the group with this beginning, by name.
 * @throws MusterError `invalid_field`, `not_found`
 */
export async function nodesOfGroup(read: Kysely<Schema>, jobId: string, beginning: string): Promise<readonly string[]> {
  if (!/^[0-9a-f]{4,32}$/.test(beginning)) throw invalid('group', 'must be 4 to 32 of 0-9 and a-f');
  const found = groupResults(await resultRows(read, jobId)).filter(({ group }) => group.startsWith(beginning));
  if (found.length > 1) throw invalid('group', 'is the beginning of several groups: give more digits');
  const [group] = found;
  if (group === undefined) throw new MusterError('not_found', { kind: 'group of results', name: beginning });
  return group.nodes;
}
