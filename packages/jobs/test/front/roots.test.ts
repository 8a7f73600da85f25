import { afterAll, beforeAll, expect, it } from 'vitest';
import { type FrontServer, startFront } from '../support/front-server.js';

/** Where jobs are (sheet §8.1): with the organization in the path, and with that of the login. */

const ID = 'b5c4014b-31e7-47a0-954f-c9d404320904-007';
const ROOTS = ['/organizations/default/jobs/v2', '/jobs/v2'];
const VALUES: Readonly<Record<string, string>> = { id: ID, user: 'anna', attribute: 'status', value: 'FINISHED' };
/** Of the tables of the sheet. */
const KNOWN = [
  ...['GET /', 'POST /', 'GET /{id}', 'POST /{id}', 'DELETE /{id}', 'GET /{id}/status', 'GET /{id}/history'],
  ...['cancel', 'kill', 'stop', 'hide', 'unhide', 'resubmit', 'pause', 'resume'].map((name) => `POST /{id}/${name}`),
  ...['GET /{id}/pems', 'POST /{id}/pems', 'GET /{id}/pems/{user}', 'POST /{id}/pems/{user}', 'DELETE /{id}/pems'],
  ...[
    'DELETE /{id}/pems/{user}',
    'GET /{id}/outputs/listings',
    'GET /{id}/notifications',
    'GET /search/{*}',
    'GET /{attribute}/{value}',
    'GET /usage',
  ],
];

let front: FrontServer;
let routes: readonly { readonly method: string; readonly path: string }[];
beforeAll(async () => {
  front = await startFront();
  const { paths } = (await front.send({ at: '/openapi.json' })).body as { paths: Record<string, object> };
  routes = Object.entries(paths)
    .filter(([path]) => /^(\/organizations\/\{org\})?\/jobs\/v2(\/|$)/.test(path))
    .flatMap(([path, methods]) => Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path })));
});
afterAll(() => front.close());

const below = (root: string): string[] =>
  routes
    .filter(({ path }) => path === root || path.startsWith(`${root}/`))
    .map(({ method, path }) => `${method} ${path.slice(root.length) || '/'}`)
    .toSorted();

it('has the routes of the sheet under both roots', () => {
  const [inPath, ofLogin] = [below('/organizations/{org}/jobs/v2'), below('/jobs/v2')];
  expect(ofLogin).toEqual(inPath);
  expect(inPath).toEqual(expect.arrayContaining(KNOWN));
});

it('answers under both roots, with and without a slash at the end, every route by itself', async () => {
  const unknown: string[] = [];
  let asked = 0;
  for (const line of below('/jobs/v2')) {
    const [method = '', path = ''] = line.split(' ');
    const filled = path
      .replace('{*}', 'name/demo')
      .replace(/\{(\w+)\}/g, (_, name: string) => VALUES[name] ?? expect.fail(`no value for ${name}`))
      .replace(/\/$/, '');
    for (const at of ROOTS.flatMap((root) => [`${root}${filled}`, `${root}${filled}/`])) {
      asked += 1;
      const { status, message, text } = await front.send({ method, at, ...(method === 'POST' && { body: {} }) });
      // That there is no such job is said by its code.
      const nowhere = status === 405 || (status === 404 && !message.startsWith('JOBS_'));
      if (nowhere) unknown.push(`${method} ${at}: ${status} ${text}`);
    }
  }
  expect(unknown).toEqual([]);
  expect(asked).toBeGreaterThanOrEqual(KNOWN.length * ROOTS.length * 2);
});

it('says of others that there are none: the answers above were of routes', async () => {
  for (const root of ROOTS) {
    const { status, message } = await front.send({ at: `${root}/${ID}/nothing` });
    expect([status, message]).toEqual([404, expect.not.stringContaining('JOBS_')]);
  }
});
