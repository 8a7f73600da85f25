import { Type } from 'typebox';
import type { Auth } from '../auth/auth.js';
import type { App } from '../http/route.js';
import * as schemas from './schemas.js';
import { auditView } from './views.js';

/** The record of denials, changes of identity, and starts and aborts of jobs. */
export function auditRoutes(app: App, auth: Auth): void {
  app.get(
    '/organizations/:org/audit',
    {
      config: { permission: 'org:admin' },
      schema: {
        tags: ['audit'],
        operationId: 'listAudit',
        summary: 'What was done and what was denied',
        description: 'The newest first; with `after`, what came after it, oldest first.',
        params: schemas.OrgParams,
        querystring: schemas.AuditQuery,
        response: { 200: Type.Array(schemas.AuditAnswer) },
      },
    },
    async (request) => {
      const { limit = 100, actor_kind: actorKind, ...filters } = request.query;
      const entries = await auth.audit.page({ orgId: request.organization.id, limit, actorKind, ...filters });
      return entries.map(auditView);
    },
  );
}
