import type { App } from '@muster/platform/http';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type {} from '../../rights.js';
import { type DisbatchDeps, type DisbatchRoute, refusedAs } from '../interface.js';
import { readParameters } from '../parameters.js';
import { REALM } from './login.js';
import { writeAnswer } from './write-answer.js';

/** The command interface below `/organizations/ORG/disbatch`, through the gate. */
export function organizationRoutes(app: App, routes: readonly DisbatchRoute[], { settings }: DisbatchDeps): void {
  for (const route of routes) {
    const { method, path, permission, operationId, summary, answers } = route;
    app.route({
      method,
      url: `/organizations/:org/disbatch${path}`,
      config: { permission, anyBody: true, basicRealm: REALM, ...(method !== 'GET' && { empowers: false }) },
      schema: {
        tags: ['disbatch'],
        operationId,
        summary,
        description:
          'As clients of Disbatch know it: parameters in a form, JSON or the query; 200 or 400 with `error`.',
        params: Type.Object(Object.fromEntries(['org', ...namesIn(path)].map((name) => [name, Type.String()]))),
        querystring: Type.Object({}, { additionalProperties: true }),
        response: { 200: answers ?? Type.Unknown({ description: 'See the guide for those who come from Disbatch' }) },
      },
      handler: async (request, reply) => {
        const { caller, organization } = request;
        const { type, name, principalId } = caller;
        const answer = await answered(route, request, () => ({ organization, by: { type, name, principalId } }));
        return writeAnswer(reply, settings.dialect, answer);
      },
    });
  }
}

export function namesIn(path: string): readonly string[] {
  return [...path.matchAll(/:([a-z]+)/g)].map(([, name = '']) => name);
}

type Who = Pick<Parameters<DisbatchRoute['handle']>[0], 'organization' | 'by'>;

/** What a route answers to a request, also when it refuses it. */
export async function answered(route: DisbatchRoute, request: FastifyRequest, who: () => Who) {
  try {
    const [, query = ''] = /\?(.*)$/s.exec(request.raw.url ?? '') ?? [];
    const said = readParameters({ contentType: request.headers['content-type'], body: request.rawBody, query });
    const named = request.params as Readonly<Record<string, string>>;
    return await route.handle({ ...who(), named, said });
  } catch (error) {
    return refusedAs(error);
  }
}
