import type { App } from '@muster/platform/http';
import { Type } from 'typebox';
import { type AdminDeps, OrgParams } from '../routes/admin-deps.js';
import { audited } from '../routes/catalog.js';
import { importJobs, MOST_ROWS } from './import.js';

export function importRoutes(app: App, deps: AdminDeps): void {
  app.route({
    method: 'POST',
    url: '/organizations/:org/job-import',
    config: { permission: 'job:admin', empowers: false },
    schema: {
      tags: ['jobs'],
      operationId: 'importJobs',
      summary: 'Take over jobs that Aloe or Agave ran, with their history: they are listed and read, and nothing more',
      description:
        `Up to ${MOST_ROWS} rows of \`aloe_jobs\` or Agave’s \`jobs\`, each with its \`history\`; only jobs that have ended. What is ` +
        'there already is left as it is.',
      params: OrgParams,
      body: Type.Array(Type.Unknown({ description: 'A row' }), { maxItems: MOST_ROWS }),
      response: {
        200: Type.Object({
          imported: Type.Integer(),
          present: Type.Integer({ description: 'There already' }),
          errors: Type.Array(Type.Object({ row: Type.Integer(), error: Type.String() })),
        }),
      },
    },
    handler: async ({ organization, caller, body }) => {
      const also = audited(deps, { organization, caller }, 'jobs.import', organization.name);
      const { imported, present, errors } = await importJobs(deps.store, organization, body, also);
      return { imported, present, errors: [...errors] };
    },
  });
}
