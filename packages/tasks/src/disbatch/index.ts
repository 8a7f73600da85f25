export type { Disbatch } from './layer.js';
export { createDisbatch } from './layer.js';
