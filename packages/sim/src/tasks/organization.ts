import type { Organization } from '@muster/platform/auth';

/** There is one. */
export const ORG: Organization = { id: 'c'.repeat(32), name: 'default' };
