// What the package adds to the types of those below it: tables and permissions.
import './rights.js';
import './tables.js';

export { rulesLayer } from './declaration.js';
export { createRules, type RuleLayer } from './layer.js';
