import type { App } from '../http/route.js';
import type { Auth } from './index.js';
import { auditRoutes } from './routes/audit.js';
import { clientRoutes } from './routes/clients.js';
import { groupRoutes, nodeGroupRoutes } from './routes/groups.js';
import { keyRoutes } from './routes/keys.js';
import { organizationRoutes } from './routes/organizations.js';
import { accessTokenRoutes, enrolTokenRoutes, serviceTokenRoutes } from './routes/tokens.js';
import { userRoutes } from './routes/users.js';

/** Everything about who may use the server. */
export function authRoutes(app: App, auth: Auth): void {
  organizationRoutes(app, auth);
  userRoutes(app, auth);
  clientRoutes(app, auth);
  keyRoutes(app, auth);
  groupRoutes(app, auth);
  nodeGroupRoutes(app, auth);
  enrolTokenRoutes(app, auth);
  accessTokenRoutes(app, auth);
  serviceTokenRoutes(app, auth);
  auditRoutes(app, auth);
}
