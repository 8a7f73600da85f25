/** At which something may befall a process: it has done such a thing, and is not told yet. */
export const MOMENTS = ['commit', 'blocking', 'submission'] as const;
export type Moment = (typeof MOMENTS)[number];

export const MISHAPS = ['dies', 'stands still', 'misses the database'] as const;
export type Mishap = (typeof MISHAPS)[number];
