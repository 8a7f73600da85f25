import { readFileSync } from 'node:fs';
import { METHODS, request } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { EventClient } from '../../platform/test/support/event-client.js';
import { startTestServer, type TestServer } from './support/test-server.js';

/** Found by asking every registered route and every other listener, not by what they say of themselves. */
const SECURITY = new URL('../../../docs/security.md', import.meta.url);
/** How a handler refuses a stranger, or is none at all. */
const CLOSED = new Set(['missing_auth_headers', 'login_missing', 'method_not_allowed']);

let server: TestServer;
let routes: readonly (readonly [method: string, path: string])[];

beforeAll(async () => {
  let tree = (): string => '';
  server = await startTestServer({
    routes: (app) => {
      tree = () => app.printRoutes();
    },
  });
  routes = branches(tree());
});
afterAll(() => server.stop());

/** The framework draws its routes as a tree; each branch has the rest of its path and its methods. */
function branches(tree: string): [string, string][] {
  const above: string[] = [];
  return tree.split('\n').flatMap((line) => {
    const found = /^((?:[│ ] {3})*[├└]── )(\S*) ?(?:\((.*)\))?$/.exec(line);
    if (found === null) return [];
    const [, indent = '', part = '', methods = ''] = found;
    const depth = indent.length / 4 - 1;
    above[depth] = part;
    const path = above.slice(0, depth + 1).join('');
    if (methods === '') return [];
    return methods.split(', ').map((method): [string, string] => [method, path]);
  });
}

/** The code with which a request without signature or token is refused; null when it is answered. */
function refusal(method: string, path: string): Promise<string | null> {
  const url = new URL(path.replace(':org', 'default').replace(/:\w+/g, 'x').replace('*', 'x'), server.url);
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, agent: false }, (answer) => {
      answer.resume();
      resolve(answer.headers['x-muster-error'] === undefined ? null : String(answer.headers['x-muster-error']));
    });
    asked.on('error', reject);
    asked.end();
  });
}

/** First column of the table under this heading. */
function documented(): string[] {
  const [, section = ''] = readFileSync(SECURITY, 'utf8').split('## Reachable without authentication\n');
  const [table = ''] = section.split('\n## ');
  return [...table.matchAll(/^\| `([A-Z]+ [^`]+)`/gm)].map((row) => row[1] ?? '').sort();
}

/** Does STOMP answer somebody who has not logged in at all, at this URL? */
async function answersStomp(url: string): Promise<boolean> {
  const client = await EventClient.open(url);
  client.send('CONNECT', [
    ['accept-version', '1.2'],
    ['host', 'localhost'],
  ]);
  const answered = (await client.error()) !== '';
  await client.close();
  return answered;
}

it('every handler that answers a stranger is in the list of docs/security.md, and no other', async () => {
  const open = new Set<string>();
  for (const [method, path] of routes) {
    if (!METHODS.includes(method)) continue;
    const code = await refusal(method, path);
    if (code !== null && CLOSED.has(code)) continue;
    // The pages of the API description are one entry.
    open.add(path.startsWith('/docs') ? 'GET /docs' : `${method} ${path}`);
  }
  const { stompUrl } = server.running;
  if (await answersStomp(`${server.url.replace('http', 'ws')}/stomp`)) open.add('GET /stomp');
  if (await answersStomp(stompUrl)) open.add('CONNECT stomp.listen');
  expect(routes.length).toBeGreaterThan(200);
  expect([...open].sort()).toEqual(documented());
});
