import type { Identity, Organization } from '../auth/types.js';
import type { RetryPolicy } from '../outbound/retries.js';

/** With whose rights a notification follows events. */
export type Owner = Pick<Identity, 'principalId' | 'type' | 'name'>;

/** What somebody outside is told: events by a webhook or by mail, or the whole audit by a webhook. */
export interface Notification {
  readonly id: string;
  readonly org: Organization;
  readonly name: string;
  readonly follows: 'audit' | 'events';
  /** Of events; empty for the audit. */
  readonly selector: string;
  /** A web address, or one of mail. */
  readonly target: string;
  readonly policy: RetryPolicy;
  readonly enabled: boolean;
  readonly owner: Owner;
  /** Events after this position are told. */
  readonly since: number;
  /** Events that were not told, as too many waited. */
  readonly skipped: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** What somebody says of one. */
export interface Asked extends Pick<Notification, 'follows' | 'selector' | 'target' | 'policy' | 'enabled'> {
  /** Of the audit: the seal after which it begins, or goes on. */
  readonly afterSeal?: number;
}
