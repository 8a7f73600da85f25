import type { Auth, IdentityListener } from '@muster/platform/auth';
import type { Base, Layer } from '@muster/platform/layers';
import type { TaskController } from '../ports.js';
import { BulkRunner } from './runner.js';

export interface BulkDeps {
  readonly auth: Pick<Auth, 'authorize' | 'organizations' | 'repository'>;
  readonly tasks: { readonly controller: TaskController };
}

export interface Bulk extends Required<Omit<Layer, 'status'>>, Pick<IdentityListener, 'organizationRemoved'> {
  readonly runner: BulkRunner;
}

/** Actions on many tasks, composed. Started after tasks, and stopped before them. */
export function createBulk(base: Base, { auth, tasks }: BulkDeps): Bulk {
  const { store, recorder, clock, random, logger } = base;
  const runner = new BulkRunner({ store, recorder, clock, random, logger, auth, controller: tasks.controller });
  return {
    runner,
    organizationRemoved: (orgId) => runner.forget(orgId),
    load: () => runner.load(),
    start: () => runner.start(),
    stop: () => runner.stop(),
  };
}
