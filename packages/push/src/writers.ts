import { type Circumstances, holdsRole, type Identity } from '@muster/platform/auth';

/** The group whose members may start any push job. */
export const WRITERS = 'push_job_writers';

export const mayWrite = (identity: Identity, { groups }: Circumstances): boolean =>
  holdsRole(WRITERS, identity, groups, false);
