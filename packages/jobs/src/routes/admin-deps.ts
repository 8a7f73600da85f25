import type { Broker } from '@muster/broker';
import type { Auth, Identity, Organization } from '@muster/platform/auth';
import type { Recorder } from '@muster/platform/log';
import type { Store } from '@muster/store';
import { Type } from 'typebox';
import { audited } from './catalog.js';

/** What the routes of administrators need. */
export interface AdminDeps {
  readonly store: Store;
  readonly recorder: Pick<Recorder, 'transact'>;
  readonly broker: Pick<Broker, 'publish'>;
  readonly auth: Pick<Auth, 'audit' | 'authorize' | 'organizations'>;
}

interface Asked {
  readonly caller: Identity;
  readonly organization: Organization;
}

/** Stores who did it, before it is done. */
export async function recordAudit(deps: AdminDeps, asked: Asked, action: string, target: string): Promise<void> {
  await deps.store.commit(audited(deps, asked, action, target));
}

export const OrgParams = Type.Object({ org: Type.String() });

/** Of one thing below an organization. */
export const IdParams = Type.Object({ org: Type.String(), id: Type.String({ maxLength: 128 }) });

export const PageQuery = Type.Object(
  {
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: 'Most in one answer', default: 100 })),
    offset: Type.Optional(Type.Integer({ minimum: 0, description: 'How many to pass over', default: 0 })),
  },
  { additionalProperties: false },
);

export function pageOf({ limit = 100, offset = 0 }: { readonly limit?: number; readonly offset?: number }) {
  return { limit, offset };
}
