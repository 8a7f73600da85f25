import { type Static, Type } from 'typebox';
import { auditView, OF_NONE } from '../auth/audit-seals.js';
import type { Auth } from '../auth/auth.js';
import type { App } from '../http/route.js';
import * as schemas from './schemas.js';

/** The record of denials, changes of identity, and starts and aborts of jobs. */
export function auditRoutes(app: App, auth: Auth): void {
  const list = async (orgId: string | null, query: Static<typeof schemas.AuditQuery>) => {
    const { limit = 100, actor_kind: actorKind, ...filters } = query;
    return (await auth.audit.page({ orgId, limit, actorKind, ...filters })).map(auditView);
  };

  const sealed = async (orgId: string | null, { after = 0 }: Static<typeof schemas.AuditSealsQuery>) => ({
    organization_id: orgId ?? OF_NONE,
    public_key: auth.auditSeals.publicKey,
    server_keys: [...auth.auditSeals.keyLinks],
    // Before the seals: none that is made meanwhile is missed among them.
    known_seal: await auth.auditSeals.known(orgId),
    seals: await auth.auditSeals.page(orgId, after),
  });

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
    async ({ organization, query }) => list(organization.id, query),
  );

  app.get(
    '/audit',
    {
      config: { permission: 'server:admin' },
      schema: {
        tags: ['audit'],
        operationId: 'listServerAudit',
        summary: 'What was done and denied that concerns the whole server: organizations, its key, its cluster, users',
        description: 'As the audit of an organization.',
        querystring: schemas.AuditQuery,
        response: { 200: Type.Array(schemas.AuditAnswer) },
      },
    },
    async ({ query }) => list(null, query),
  );

  app.get(
    '/organizations/:org/audit/seals',
    {
      config: { permission: 'org:admin' },
      schema: {
        tags: ['audit'],
        operationId: 'listAuditSeals',
        summary:
          'The audit as it was sealed, for whoever keeps it elsewhere or wants to be sure that nothing was changed',
        description:
          'Oldest first; `after` is the last seal of the page before. An entry is sealed within about a second. See the guide to operating.',
        params: schemas.OrgParams,
        querystring: schemas.AuditSealsQuery,
        response: { 200: schemas.AuditSealsAnswer },
      },
    },
    async ({ organization, query }) => sealed(organization.id, query),
  );

  app.get(
    '/audit/seals',
    {
      config: { permission: 'server:admin' },
      schema: {
        tags: ['audit'],
        operationId: 'listServerAuditSeals',
        summary: 'The audit of what concerns the whole server as it was sealed: a chain of its own',
        description: 'As the seals of an organization; `organization_id` is empty, here and in what is signed.',
        querystring: schemas.AuditSealsQuery,
        response: { 200: schemas.AuditSealsAnswer },
      },
    },
    async ({ query }) => sealed(null, query),
  );
}
