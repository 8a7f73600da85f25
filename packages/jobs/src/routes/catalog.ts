import { type AuditEntry, type Auth, actorOf, type Organization } from '@muster/platform/auth';
import { type App, baseUrl } from '@muster/platform/http';
import type { Write } from '@muster/store';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { MusterError } from '../errors.js';
import { readSubmissionBody } from '../request/body.js';
import '../rights.js';
import { ownerName } from '../controller/asker.js';
import { type Answer, sendAnswer } from './envelope.js';
import { filtered, Query } from './query.js';
import { enveloped } from './schemas.js';

/** What apps, systems and queues need of the layers below to be shown and changed. */
export interface CatalogAuth {
  readonly auth: Pick<Auth, 'audit' | 'authorize' | 'organizations' | 'rights'>;
}

/** One request for apps or systems. */
export interface CatalogCall {
  readonly organization: Organization;
  readonly request: FastifyRequest;
  readonly query: Query;
  /** Name of who asks. */
  readonly user: string;
  readonly admin: boolean;
  /** Before `/apps/v2` and `/systems/v2`: absolute, and good with the same login. */
  readonly root: string;
  /** What the path names; empty: nothing. */
  readonly id: string;
  /** What was sent: JSON, or a file of a form. */
  body(): Promise<unknown>;
}

export interface CatalogRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Such as `/apps/v2/:id`. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  /** What stands in the envelope, for /openapi.json. */
  readonly result: Parameters<typeof enveloped>[0];
  handle(call: CatalogCall): Promise<Answer>;
}

const PLACES = [
  { prefix: '/organizations/:org', tenant: 'path', suffix: '' },
  { prefix: '', tenant: 'credentials', suffix: 'OfLogin' },
] as const;

/** Adds a route of Agave's shape, with the organization in the path and with that of the login. Changes need `job:admin`. */
export function addCatalogRoute(app: App, { auth }: CatalogAuth, route: CatalogRoute): void {
  const { method, path, operationId, summary, description, result, handle } = route;
  for (const { prefix, tenant, suffix } of PLACES) {
    const names = [...`${prefix}${path}`.matchAll(/:([a-z]+)/g)].map(([, name = '']) => name);
    app.route({
      method,
      url: `${prefix}${path}`,
      config: {
        permission: method === 'GET' ? 'job:use' : 'job:admin',
        tenant,
        anyBody: true,
        accept: '*/*',
        ...(method !== 'GET' && { empowers: false }),
      },
      validatorCompiler: () => (value: unknown) => ({ value }),
      schema: {
        tags: [path.startsWith('/apps') ? 'apps' : 'systems'],
        operationId: `${operationId}${suffix}`,
        summary,
        ...(description !== undefined && { description }),
        params: Type.Object(Object.fromEntries(names.map((name) => [name, Type.String()]))),
        querystring: Type.Object({}, { additionalProperties: true }),
        response: { 200: enveloped(result) },
      },
      handler: async (request, reply) => {
        const query = new Query(request.raw.url ?? '');
        const { organization, caller } = request;
        const params = request.params as Readonly<Record<string, string>>;
        const base = baseUrl(request);
        const answer = await handle({
          organization,
          request,
          query,
          user: ownerName(caller),
          admin: await auth.authorize(caller, organization, 'job:admin'),
          root: tenant === 'credentials' ? base : `${base}/organizations/${encodeURIComponent(organization.name)}`,
          id: params.id ?? '',
          body: () => readSubmissionBody({ contentType: request.headers['content-type'], bytes: request.rawBody }),
        });
        return sendAnswer(reply, { ...answer, result: filtered(answer.result, query.filter) }, query.manner);
      },
    });
  }
}

/** What is stored with a change: that the organization is still there, and who did it. */
export function audited(
  { auth }: { readonly auth: Pick<Auth, 'audit' | 'organizations'> },
  { caller, organization }: Pick<FastifyRequest, 'caller' | 'organization'>,
  action: string,
  target: string,
): readonly Write[] {
  const entry = doneEntry({ caller, organization }, action, target);
  return [auth.organizations.present(organization), auth.audit.write(entry)];
}

/** What the audit says of something that was done. */
export function doneEntry(
  { caller, organization }: Pick<FastifyRequest, 'caller' | 'organization'>,
  action: string,
  target: string,
  detail: AuditEntry['detail'] = {},
): AuditEntry {
  return { orgId: organization.id, actor: actorOf(caller), action, target, outcome: 'done', detail };
}

/** The action of a request that changes what is there: `{"action": "enable"}`. @throws MusterError `invalid_field` */
export function readAction<const Action extends string>(body: unknown, actions: readonly Action[]): Action {
  const said = typeof body === 'object' && body !== null ? Reflect.get(body, 'action') : undefined;
  const action = actions.find((one) => one.toLowerCase() === String(said ?? '').toLowerCase());
  if (action !== undefined) return action;
  throw new MusterError('invalid_field', { field: 'action', reason: `must be one of ${actions.join(', ')}` });
}
