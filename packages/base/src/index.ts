export * from './clock.js';
export * from './data-dir.js';
export * from './duration.js';
export * from './errors.js';
export * from './process-user.js';
export * from './quantity.js';
export * from './size.js';
export * from './trust.js';
