import type { Auth } from '../auth/auth.js';
import type { App } from '../http/route.js';
import { accessRoutes } from './access.js';
import { auditRoutes } from './audit.js';
import { browserLoginRoutes } from './browser-login.js';
import { clientRoutes } from './clients.js';
import { groupRoutes, nodeGroupRoutes } from './groups.js';
import { invitationRoutes } from './invitations.js';
import { issuerRoutes } from './issuers.js';
import { keyRoutes } from './keys.js';
import { loginRoutes } from './login.js';
import { organizationRoutes } from './organizations.js';
import { revokedKeyRoutes } from './revoked-keys.js';
import { sessionRoutes, signInLinkRoutes } from './sessions.js';
import { accessTokenRoutes, enrolTokenRoutes, serviceTokenRoutes } from './tokens.js';
import { userRoutes } from './users.js';

/** Everything about who may use the server. */
export function authRoutes(app: App, auth: Auth): void {
  organizationRoutes(app, auth);
  invitationRoutes(app, auth);
  userRoutes(app, auth);
  clientRoutes(app, auth);
  keyRoutes(app, auth);
  revokedKeyRoutes(app, auth);
  groupRoutes(app, auth);
  nodeGroupRoutes(app, auth);
  enrolTokenRoutes(app, auth);
  accessTokenRoutes(app, auth);
  serviceTokenRoutes(app, auth);
  issuerRoutes(app, auth);
  loginRoutes(app, auth);
  browserLoginRoutes(app, auth);
  signInLinkRoutes(app, auth);
  sessionRoutes(app, auth);
  accessRoutes(app, auth);
  auditRoutes(app, auth);
}
