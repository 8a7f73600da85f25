export { type Hints, MISSED } from './types.js';
