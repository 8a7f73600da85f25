import type { Organization } from '@muster/platform/auth';
import type { Recordable } from '@muster/platform/log';
import { RUNBOOK_EVENTS } from './event-types.js';
import type { RunbookRow } from './reads.js';

/** What saved commands tell. */

type About = Pick<RunbookRow, 'id' | 'name' | 'version'>;

const subjectOf = ({ id }: Pick<About, 'id'>) => `runbook/${id}`;

export function runbookStored(org: Organization, { id, name, version }: About, by: string): Recordable {
  const type = version === 1 ? 'runbook.created' : 'runbook.changed';
  return RUNBOOK_EVENTS.tell(type, org, { runbook: id, name, by, version }, {}, subjectOf({ id }));
}

export function runbookRemoved(org: Organization, { id, name }: About, by: string): Recordable {
  return RUNBOOK_EVENTS.tell('runbook.removed', org, { runbook: id, name, by }, {}, subjectOf({ id }));
}

export function runbookRan(
  org: Organization,
  { id, name, version }: About,
  {
    by,
    job,
    parameters,
  }: { readonly by: string; readonly job: string; readonly parameters: Readonly<Record<string, string>> },
): Recordable {
  const attributes = { runbook: id, name, by, version, job };
  return RUNBOOK_EVENTS.tell('runbook.ran', org, attributes, { parameters }, subjectOf({ id }));
}
