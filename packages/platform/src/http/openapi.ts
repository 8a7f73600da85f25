import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import { Type } from 'typebox';
import { type App, isOpen, type RoutePermission } from './route.js';

const DESCRIPTION = `Runs work on fleets of machines.

Requests are signed as the Chef API signs them (versions 1.0, 1.1 and 1.3), or carry an access token as
\`Authorization: Bearer TOKEN\`. Version 1.3 signs a query as well when \`X-Muster-Query-Hash\` is sent, the base64 of
the SHA-256 of the query; without it only query parameters that deployed clients send are taken. Errors are \`{"error": text}\` or \`{"error": [text]}\`; the header \`X-Muster-Error\`
has the error's stable code and \`X-Muster-Fix\` says what to do about it. Answers of GET have \`X-Muster-Position\`: events after this
position (\`from\`) tell all that changed since.`;

/** Why a request may be refused, by permission: errors every such route can answer. */
function refusals(permission: RoutePermission): Readonly<Record<string, string>> {
  const common = { '400': 'The request is malformed', '405': 'The path has no such method', '406': 'Not acceptable' };
  switch (permission) {
    case 'public':
      return common;
    case 'enrol':
      return { ...common, '401': 'The token is not valid', '404': 'No such organization' };
    case 'login':
      return { ...common, '401': 'The token is not accepted', '403': 'No such user', '404': 'Nobody signs in there' };
    default:
      return { ...common, '401': 'Not authenticated', '403': 'Not allowed', '404': 'No such thing' };
  }
}

/** What changes something may meet what is there already, and bring a body. */
const OF_CHANGES = {
  '409': 'It exists already, or something is under way with it',
  '413': 'The body is too large',
  '415': 'The body is not JSON',
};

/** Our own name on the page, instead of the framework's. */
const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 150 40" width="150" height="40">
<g fill="none" stroke="#62a03f" stroke-width="3"><circle cx="18" cy="20" r="5"/><circle cx="18" cy="20" r="13" stroke-dasharray="6 4"/></g>
<text x="42" y="28" font-family="sans-serif" font-size="24" font-weight="bold" fill="#fff">Muster</text></svg>`;

function errorAnswer(description: string): object {
  return {
    description,
    type: 'object',
    required: ['error'],
    properties: { error: { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] } },
  };
}

/** Serves the description of all routes, made from their schemas, and a page to read it, without any other host. */
export async function describeRoutes(app: App, version: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Muster', version, description: DESCRIPTION, license: { name: 'Apache-2.0' } },
      components: {
        securitySchemes: {
          chefSignature: {
            type: 'apiKey',
            in: 'header',
            name: 'X-Ops-Authorization-1',
            description: 'Chef API signing: X-Ops-Sign, -UserId, -Timestamp, -Content-Hash and -Authorization-N',
          },
          accessToken: { type: 'http', scheme: 'bearer', description: 'Made with `muster access-token create`' },
        },
      },
    },
    transform: ({ schema, url, route }) => {
      const permission = route.config?.permission ?? 'public';
      const given: unknown = schema?.response;
      const response: Record<string, unknown> = { ...(typeof given === 'object' ? given : {}) };
      const reads = route.method === 'GET' || route.method === 'HEAD';
      const refused = reads ? refusals(permission) : { ...refusals(permission), ...OF_CHANGES };
      for (const [status, description] of Object.entries<string>(refused)) {
        response[status] ??= errorAnswer(description);
      }
      const open = isOpen(permission);
      const empowers = route.config?.empowers === true;
      const token = empowers ? [] : [{ accessToken: [] }];
      const description = [schema?.description, empowers ? 'Needs a signed request.' : undefined].filter(Boolean);
      return {
        url,
        schema: {
          ...schema,
          ...(description.length > 0 && { description: description.join(' ') }),
          response,
          security: open ? [] : [{ chefSignature: [] }, ...token],
          'x-permission': permission,
          'x-empowers': empowers,
        },
      };
    },
  });
  app.get(
    '/openapi.json',
    {
      config: { permission: 'public' },
      schema: {
        operationId: 'getOpenApi',
        summary: 'This description, OpenAPI 3.1',
        tags: ['status'],
        response: { 200: Type.Object({ openapi: Type.String() }, { description: 'An OpenAPI 3.1 document' }) },
      },
    },
    async () => app.swagger() as { openapi: string },
  );
  await app.register(async (scope) => {
    scope.addHook('onRoute', (route) => {
      route.config = { ...route.config, permission: 'public', accept: '*/*' };
    });
    await scope.register(swaggerUi, {
      logo: { type: 'image/svg+xml', content: Buffer.from(LOGO) },
      theme: { title: 'Muster API', favicon: [] },
      routePrefix: '/docs',
      staticCSP: true,
      uiConfig: { docExpansion: 'list', deepLinking: true, validatorUrl: null, supportedSubmitMethods: [] },
    });
  });
}
