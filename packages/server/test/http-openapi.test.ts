import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from './support/test-server.js';

type Json = Readonly<Record<string, unknown>>;

let server: TestServer;
let description: Json & { readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>> };

const routes: string[] = [];

beforeAll(async () => {
  server = await startTestServer({ routes: (app) => void routes.push(app.printRoutes()) });
  const answer = await server.api.as(null).get('/openapi.json');
  description = answer.body as typeof description;
});
afterAll(() => server.stop());

function operations() {
  return Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
}

/** What printRoutes draws as a tree, as `METHOD /path`; without the names of parameters, which differ by method. */
function registered(): readonly string[] {
  const found: string[] = [];
  const stack: string[] = [];
  for (const line of (routes[0] ?? '').split('\n')) {
    const match = /^((?:[│ ] {3})*)[├└]── (\S*) ?(?:\((.*)\))?$/.exec(line);
    if (match === null) continue;
    const depth = (match[1] ?? '').length / 4;
    stack.length = depth;
    stack.push(match[2] ?? '');
    const methods = match[3]?.split(', ') ?? [];
    for (const method of methods) found.push(`${method} ${stack.join('').replace(/:[^/]+/g, ':')}`);
  }
  return found;
}

describe('/openapi.json', () => {
  it('is OpenAPI 3.1 with a title and a version', () => {
    expect(description.openapi).toMatch(/^3\.1\.\d+$/);
    expect(description.info).toMatchObject({ title: 'Muster', version: expect.any(String) });
  });

  it('covers every route', () => {
    const documented = new Set(
      operations().map(
        ({ method, path }) => `${method.toUpperCase()} ${path.replace('{*}', '*').replace(/\{\w+\}/g, ':')}`,
      ),
    );
    // Pages for browsers are described by nobody.
    const isPage = (route: string): boolean => /^\w+ \/(?:docs.*|console.*)?$/.test(route);
    const missing = registered().filter((route) => !documented.has(route) && !isPage(route));
    expect(missing.filter((route) => !route.startsWith('HEAD '))).toEqual([]);
    expect(registered().length).toBeGreaterThan(35);
  });

  it('gives each operation a summary, a tag and answers with descriptions', () => {
    for (const { path, method, operation } of operations()) {
      const where = `${method} ${path}`;
      expect(operation.summary, where).toEqual(expect.any(String));
      expect(operation.tags, where).toEqual([expect.any(String)]);
      const responses = operation.responses as Readonly<Record<string, Json>>;
      expect(Object.keys(responses).length, where).toBeGreaterThan(0);
      for (const [status, response] of Object.entries(responses)) {
        expect(status, where).toMatch(/^[1-5]\d\d$/);
        expect(response.description, where).toEqual(expect.any(String));
      }
    }
  });

  it('declares every path parameter, and nothing but schemas of JSON Schema 2020-12', () => {
    for (const { path, method, operation } of operations()) {
      const declared = ((operation.parameters ?? []) as readonly Json[]).filter((one) => one.in === 'path');
      const named = [...path.matchAll(/\{(\w+|\*)\}/g)].map((match) => match[1]);
      expect(declared.map((one) => one.name).sort(), `${method} ${path}`).toEqual(named.sort());
    }
    expect(JSON.stringify(description)).not.toContain('"nullable"');
  });

  it('says what else an operation may answer', () => {
    const answers = (path: string, method: string) =>
      Object.keys(description.paths[path]?.[method]?.responses as Json).map(Number);
    expect(answers('/openapi.json', 'get')).toContain(200);
    expect(answers('/organizations', 'post')).toEqual(expect.arrayContaining([409, 413, 415]));
    expect(answers('/organizations/{org}/nodes', 'get')).not.toContain(409);
  });

  it('has times of ISO 8601, but where deployed clients know others', () => {
    const others = operations()
      .filter(({ operation }) => JSON.stringify(operation.responses).includes('RFC 1123'))
      .map(({ path }) => path);
    expect([...new Set(others)].sort()).toEqual([
      '/organizations/{org}/pushy/jobs',
      '/organizations/{org}/pushy/jobs/{id}',
      // These answer the job.
      '/organizations/{org}/pushy/jobs/{id}/abort',
      '/organizations/{org}/pushy/jobs/{id}/continue',
      '/organizations/{org}/pushy/node_states',
      '/organizations/{org}/pushy/node_states/{node}',
    ]);
  });

  it('names operations uniquely', () => {
    const ids = operations().flatMap(({ operation }) => operation.operationId ?? []);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  });
});

describe('/docs', () => {
  it('is served without another host', async () => {
    const page = await server.api.as(null).get('/docs');
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toContain('text/html');
    expect(page.text).not.toMatch(/(src|href)="https?:/);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'self'");
    const script = await server.api.as(null).get('/docs/static/swagger-ui-bundle.js');
    expect(script.status).toBe(200);
  });
});
