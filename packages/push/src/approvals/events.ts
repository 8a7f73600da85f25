import type { Organization } from '@muster/platform/auth';
import type { Recordable } from '@muster/platform/log';
import { APPROVAL_EVENTS } from './event-types.js';
import { startsJob } from './order.js';
import type { ApprovalRow } from './repository.js';
import { askedView } from './view.js';

/** What approvals tell. */

type About = Pick<ApprovalRow, 'hash' | 'id' | 'kind' | 'name'>;

const aboutOf = ({ id, kind, name }: About) => ({ approval: id, kind, ...(name !== null && { [kind]: name }) });
const subjectOf = ({ id }: About) => `approval/${id}`;

export function approvalAsked(
  org: Organization,
  row: About & Pick<ApprovalRow, 'asker_name' | 'command' | 'expires_at' | 'target'>,
): Recordable {
  const { command, target } = row;
  const { hash, expires_at } = askedView(row);
  const attributes = { ...aboutOf(row), by: row.asker_name };
  return APPROVAL_EVENTS.tell('approval.asked', org, attributes, { command, target, hash, expires_at }, subjectOf(row));
}

export function approvalAgreed(org: Organization, row: About, by: string, missing: number): Recordable {
  const attributes = { ...aboutOf(row), by };
  return APPROVAL_EVENTS.tell('approval.agreed', org, attributes, { hash: row.hash, missing }, subjectOf(row));
}

export function approvalGranted(org: Organization, row: About, by: string, run: string): Recordable {
  const attributes = { ...aboutOf(row), by, ...(startsJob(row.kind) && { job: run }) };
  return APPROVAL_EVENTS.tell('approval.granted', org, attributes, { hash: row.hash }, subjectOf(row));
}

export function approvalDenied(org: Organization, row: About, by: string, reason: string | null): Recordable {
  return APPROVAL_EVENTS.tell('approval.denied', org, { ...aboutOf(row), by }, { reason }, subjectOf(row));
}

export function approvalExpired(org: Organization, row: About): Recordable {
  return APPROVAL_EVENTS.tell('approval.expired', org, aboutOf(row), {}, subjectOf(row));
}
