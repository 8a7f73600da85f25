import { createHash } from 'node:crypto';
import type { JobRequest } from '../request/request.js';
import type { RunbookMark } from '../types.js';

/** What is started once it is granted: everything that decides it. */
export interface Order {
  readonly request: JobRequest;
  /** What is in its script, base64. */
  readonly script: string | null;
  readonly runbook: RunbookMark;
  /** With whose rights nodes are asked. */
  readonly author: { readonly principalId: string; readonly name: string };
}

export function writeOrder(order: Order): string {
  return JSON.stringify(order);
}

export function readOrder(text: string): Order {
  return JSON.parse(text) as Order;
}

/**
 * 64 hex digits: of the order as it is stored, so that what was looked at, what was granted and what is started are one text. The
 * approval's own random id goes with it: from the hash of a short secret nobody finds the secret by trying.
 */
export function hashOf(orgId: string, id: string, order: string): string {
  return createHash('sha256').update(`muster-approval-1\n${orgId}\n${id}\n${order}`).digest('hex');
}
