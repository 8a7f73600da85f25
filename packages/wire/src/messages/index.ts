export type * from './link.js';
export type * from './push.js';
export type * from './systems.js';
export type * from './tasks.js';
