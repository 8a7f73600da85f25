import { namesOf } from '@muster/broker';
import type { Organization } from '@muster/platform/auth';

/** There is one. */
export const ORG: Organization = { id: 'c'.repeat(32), name: 'portals' };
export const QUEUE = `${namesOf(ORG.name).submitPrefix}DefaultQueue`;
export const APP = 'wc-1.0';
/** Where jobs run, and where their inputs come from and their outputs go. */
export const HPC = 'hpc1';
export const STORAGE = 'store';
/** On the storage system; what is in it is what a job must find beside its program. */
export const INPUT = { path: 'anna/data.txt', name: 'data.txt', text: 'one two three' } as const;
