import { get } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTaskServer, type TaskServer } from '../support/task-server.js';

/** How a login is asked for below `/organizations/ORG/disbatch`. */

let server: TaskServer;
beforeAll(async () => {
  server = await startTaskServer();
});
afterAll(() => server.close());

/** The status, and each challenge as it stands in a header of its own. */
function challenges(path: string, headers: Readonly<Record<string, string>> = {}): Promise<(string | number)[]> {
  return new Promise((resolve, reject) => {
    get(`${server.url}/organizations/default/${path}`, { headers }, (response) => {
      const { statusCode = 0, rawHeaders } = response;
      response.resume();
      const values = rawHeaders.filter((_, at) => rawHeaders[at - 1]?.toLowerCase() === 'www-authenticate' && at % 2);
      resolve([statusCode, ...values]);
    }).on('error', reject);
  });
}

const CHALLENGES = [401, 'Bearer', 'Basic realm="disbatch"'];

test('who says nothing is asked for a password in a header of its own, for which clients wait', async () => {
  expect(await challenges('disbatch/queues')).toEqual(CHALLENGES);
});

test.each(['Basic', `Basic ${btoa('admin:nonsense')}`, `Basic ${btoa('nobody')}`])(
  'so is who says %s',
  async (authorization) => {
    expect(await challenges('disbatch/queues', { authorization })).toEqual(CHALLENGES);
  },
);

test('other routes ask for no password', async () => {
  const [, ...asked] = await challenges('queues', { authorization: `Basic ${btoa('admin:nonsense')}` });
  expect(asked.filter((one) => `${one}`.startsWith('Basic'))).toEqual([]);
});

test('a user and an access token log in', async () => {
  const authorization = `Basic ${btoa(`admin:${await server.token('admin')}`)}`;
  expect(await challenges('disbatch/queues', { authorization })).toEqual([200]);
});
