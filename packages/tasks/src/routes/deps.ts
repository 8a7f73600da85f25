import { type Auth, actorOf, type Identity, type Organization } from '@muster/platform/auth';
import type { EventStreams } from '@muster/platform/http';
import type { OutputFollowers } from '@muster/platform/output';
import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { MusterError } from '../errors.js';
import type { By, QueueView, TaskController } from '../ports.js';
import { findTask } from '../repository/reads.js';
import type { TaskRow } from '../repository/writes.js';
import type { TaskFeeds } from './feeds.js';

export interface TaskRouteDeps {
  readonly read: Kysely<Schema>;
  readonly controller: TaskController;
  readonly outputFollowers: Pick<OutputFollowers, 'follow'>;
  readonly auth: Pick<Auth, 'audit' | 'authorize' | 'organizations' | 'rights' | 'standing'>;
  readonly streams: EventStreams;
  readonly feeds: TaskFeeds;
  readonly logger: { error(about: object, text: string): void };
  /** Between comments that keep an idle feed open. */
  readonly keepaliveMs: number;
  /** Bytes of parameters. */
  readonly maxParams: number;
  /** Aborted when the server stops. */
  readonly stopping: AbortSignal;
}

interface Asked {
  readonly caller: Identity;
  readonly organization: Organization;
}

/** Who asks, and what the audit stores with what they change. */
export function by(
  { auth }: Pick<TaskRouteDeps, 'auth'>,
  { caller, organization }: Asked,
  audited: {
    readonly action: string;
    readonly target: string;
    readonly detail?: Readonly<Record<string, string | number>>;
  } | null,
): By {
  const present = auth.organizations.present(organization);
  if (audited === null) return { identity: caller, record: [present] };
  const entry = { orgId: organization.id, actor: actorOf(caller), outcome: 'done', ...audited } as const;
  return { identity: caller, record: [present, auth.audit.write(entry)] };
}

/** @throws MusterError `not_found`, also for queues of other organizations. */
export function existingQueue(
  { controller }: { readonly controller: Pick<TaskController, 'queue'> },
  orgId: string,
  idOrName: string,
): QueueView {
  const queue = controller.queue(orgId, idOrName);
  if (queue === undefined) throw new MusterError('not_found', { kind: 'queue', name: idOrName.slice(0, 80) });
  return queue;
}

/** @throws MusterError `not_found`, also for tasks of other organizations. */
export async function existingTask({ read }: Pick<TaskRouteDeps, 'read'>, orgId: string, id: string): Promise<TaskRow> {
  const row = await findTask(read, orgId, id);
  if (row === undefined) throw new MusterError('not_found', { kind: 'task', name: id.slice(0, 80) });
  return row;
}
