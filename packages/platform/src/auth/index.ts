export { AUTH_ACTIONS } from './actions.js';
export { type Auth, createAuth } from './auth.js';
export { bootstrap, FIRST } from './bootstrap.js';
export { type RandomBytes, systemRandom } from './changes.js';
export type { OrganizationRows } from './organization-rows.js';
export { organizationsById } from './organizations.js';
export { forbidden } from './permissions.js';
export { type Actor, type AuditEntry, actorOf, type Identity, type Organization } from './types.js';
