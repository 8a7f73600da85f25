export { AUTH_ACTIONS } from './actions.js';
export { type AuditHeads, auditHeadsIn } from './audit-heads.js';
export { type Auth, createAuth } from './auth.js';
export { bootstrap, FIRST } from './bootstrap.js';
export { type RandomBytes, systemRandom } from './changes.js';
export { AUTH_EVENT } from './event-types.js';
export { grantedTo } from './holdings.js';
export type { IdentityListener } from './identity-listeners.js';
export { DirectorySync } from './issuers/ldap/sync.js';
export { ISSUER_LIMITS, type Issuer } from './issuers/types.js';
export { AUTH_LIMITS } from './limits.js';
export { PRINCIPAL_NAME } from './names.js';
export type { OrganizationRows } from './organization-rows.js';
export { organizationIdOf, organizationsById } from './organizations.js';
export { type Groups, holdsRole, includes, type Members, membersWritten, type NodeGroup } from './permissions.js';
export { principalNow } from './principal-now.js';
export { insertNode } from './principals.js';
export { type Admitted, type Circumstances, type DeclaredRights, mayRead, READERS_HOLD } from './rights.js';
export { SERVER } from './server-actor.js';
export {
  type Actor,
  type AuditEntry,
  actorOf,
  type Identity,
  type Organization,
  type PermissionTable,
} from './types.js';
export { unknownMembers } from './unknown-members.js';
export { whilePresent } from './while-present.js';
