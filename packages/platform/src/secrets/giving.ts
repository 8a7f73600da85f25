import type { Audit } from '../auth/audit.js';
import type { Actor, AuditEntry } from '../auth/types.js';
import { MusterError } from '../errors.js';
import type { LayerLog } from '../upkeep/logging.js';

export interface GivingDeps {
  readonly audit: Pick<Audit, 'looked'>;
  readonly log: Pick<LayerLog, 'warn'>;
}

/** Of secrets that a node fetches. */
export interface Giving {
  readonly orgId: string;
  /** The node. */
  readonly actor: Actor;
  readonly names: readonly string[];
  /** For what. */
  readonly detail: NonNullable<AuditEntry['detail']>;
}

/** Gives a node what it fetches: each secret is in the audit, and one that there is none to give of is in the log besides. */
export async function given<Box>(
  { audit, log }: GivingDeps,
  { orgId, actor, names, detail }: Giving,
  give: () => Promise<Box>,
): Promise<Box> {
  const entry = { orgId, actor, action: 'secret.fetch', detail } as const;
  try {
    const box = await give();
    for (const target of names) audit.looked({ ...entry, target });
    return box;
  } catch (error) {
    // A key that is none is the node's own mistake.
    if (error instanceof MusterError && error.code !== 'invalid_field') {
      const { secret } = error.details;
      const failed = typeof secret === 'string' ? [secret] : names;
      const reason = error.message;
      for (const target of failed) audit.looked({ ...entry, target, detail: { ...detail, reason } }, 'failed');
      log.warn({ orgId, node: actor.name, secrets: failed, ...detail, reason }, 'a node could not be given secrets');
    }
    throw error;
  }
}
