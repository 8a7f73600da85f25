import { createHash } from 'node:crypto';
import type { HeldFile } from '../files/push-files.js';
import type { JobRequest } from '../request/request.js';
import { filesOf } from '../request/request-files.js';
import { describeTarget } from '../request/targets.js';
import type { RunbookMark } from '../types.js';

interface Author {
  readonly principalId: string;
  readonly name: string;
}

/** A run of a runbook. */
export interface RunbookOrder {
  readonly kind: 'runbook';
  readonly request: JobRequest;
  /** What is in its script, base64. */
  readonly script: string | null;
  readonly runbook: RunbookMark;
  /** With whose rights nodes are asked. */
  readonly author: Author;
}

/** A push job that somebody starts. */
export interface CommandOrder {
  readonly kind: 'command';
  readonly request: JobRequest;
}

/** Something that starts push jobs from then on without asking: a schedule, made or changed. */
export interface StandingOrder {
  readonly kind: 'rule' | 'schedule';
  readonly name: string;
  /** What its runs show. */
  readonly command: string;
  readonly target: string;
  /** Whole: JSON, read by whoever made it. */
  readonly content: Readonly<Record<string, unknown>>;
  readonly files: readonly string[];
  /** The one among them that is run; null: none is. */
  readonly script: string | null;
}

/** What is started once it is granted: everything that decides it. */
export type Order = CommandOrder | RunbookOrder | StandingOrder;
export type OrderKind = Order['kind'];
export type OrderOf<K extends OrderKind> = Extract<Order, { readonly kind: K }>;

/** Or makes what starts some later. */
export const startsJob = (kind: OrderKind): boolean => kind === 'command' || kind === 'runbook';

export function writeOrder(order: Order): string {
  return JSON.stringify(order);
}

export function readOrder(text: string): Order {
  return JSON.parse(text) as Order;
}

/** As it is told of and listed. */
export function summaryOf(order: Order): { readonly command: string; readonly target: string } {
  if (!('request' in order)) return order;
  const { command, target } = order.request;
  return { command, target: describeTarget(target) };
}

/** The file that is its script; null: it has none, or holds it itself. */
export function scriptOf(order: Order): string | null {
  if ('request' in order) return order.kind === 'command' ? (order.request.options.script?.sha256 ?? null) : null;
  return order.script;
}

/** What it will take to its nodes. */
export function filesOfOrder(orgId: string, order: Order): readonly HeldFile[] {
  const hashes = 'request' in order ? filesOf(order.request.options).map(({ sha256 }) => sha256) : order.files;
  return hashes.map((sha256) => ({ orgId, sha256 }));
}

/**
 * 64 hex digits: of the order as it is stored, so that what was looked at, what was granted and what is started are one text. The
 * approval's own random id goes with it: from the hash of a short secret nobody finds the secret by trying.
 */
export function hashOf(orgId: string, id: string, order: string): string {
  return createHash('sha256').update(`muster-approval-1\n${orgId}\n${id}\n${order}`).digest('hex');
}
