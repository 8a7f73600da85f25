import type { Identity, Organization } from '../auth/types.js';
import type { RetryPolicy } from '../outbound/retries.js';

/** With whose rights a notification follows events. */
export type Owner = Pick<Identity, 'principalId' | 'type' | 'name'>;

/** Events that somebody outside is told of: by a webhook, or by mail. */
export interface Notification {
  readonly id: string;
  readonly org: Organization;
  readonly name: string;
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
export type Asked = Pick<Notification, 'selector' | 'target' | 'policy' | 'enabled'>;
