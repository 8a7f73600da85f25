import { DECLARED } from './layers.js';

/** Of all layers, as the server has them. */
export const MIGRATIONS = DECLARED.migrations;
