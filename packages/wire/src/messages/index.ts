export type * from './link.js';
export type * from './push.js';
