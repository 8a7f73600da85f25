import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { keys, type PushServer, startPushServer, stranger } from '../../push/test/support/push-server.js';

/** What stays open ends as soon as its reader has lost the right to it. */

let server: PushServer;
/** Runs, and keeps output, as long as these tests do. */
let job: string;
let readers = 0;

beforeAll(async () => {
  server = await startPushServer();
  server.nodes.enter(server.org.id, 'RUN', 'run');
  server.nodes.enter(server.org.id, 'DOWN', 'down');
  job = await server.start({ command: 'sleep 1', nodes: ['RUN'], capture_output: true });
});
afterAll(() => server.close());
afterEach(async () => {
  const { groups } = server.auth;
  const made = (await groups.list(server.org.id)).some(({ name }) => name === 'push_job_readers');
  if (made) await groups.remove(server.org, 'push_job_readers', BY);
});

const BY = { name: 'admin', kind: 'user' } as const;

async function newReader(organization = server.org): Promise<string> {
  const name = `reader-${++readers}`;
  const user = { name, publicKey: keys.publicKey, serverAdmin: false, organization, groups: [] };
  await server.auth.principals.createUser(user, BY);
  return name;
}

const newToken = (name: string, ttlSeconds = 3600) =>
  server.auth.tokens.createAccessToken({ bearer: { organization: null, name }, ttlSeconds }, BY);

type Proof = { readonly user: string } | { readonly token: string };

const STREAMS: Readonly<Record<string, () => string>> = {
  'the feed of the organization': () => 'job_status_feed',
  'the feed of a job': () => `job_status_feed/${job}`,
  'the output of all nodes': () => `jobs/${job}/output`,
  'followed output': () => `jobs/${job}/output/RUN/stdout?follow=true`,
};

async function open(path: string, proof: Proof): Promise<Response> {
  const answer = await server.send({ path, ...proof });
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer;
}

/** Breaks off: who reads cannot take what came for all there was. Of an answer that says `connection: close` fetch hides that. */
async function broken(answer: Response): Promise<void> {
  const read = answer.text();
  if (answer.headers.get('connection') === 'close') await read;
  else await expect(read).rejects.toThrow('terminated');
}

const CAUSES: Readonly<Record<string, (name: string) => Promise<readonly [Proof, lose: () => unknown]>>> = {
  'the user is deleted': async (user) => [{ user }, () => server.auth.principals.removeUser(user, BY)],
  'the key is removed': async (user) => {
    const { principals } = server.auth;
    const { keys: had } = await principals.get(null, 'user', user);
    await principals.addKey(null, 'user', user, stranger, BY);
    return [{ user }, () => principals.removeKey(null, 'user', user, had[0]?.fingerprint ?? '', BY)];
  },
  'the key expires': async (name) => {
    const user = `${name}-brief`;
    const { publicKey } = keys;
    const brief = { name: user, publicKey, keyTtl: 60, serverAdmin: false, organization: server.org, groups: [] };
    await server.auth.principals.createUser(brief, BY);
    return [{ user }, () => server.clock.advance(60_000)];
  },
  'the token is deleted': async (user) => {
    const { id, token } = await newToken(user);
    return [{ token }, () => server.auth.tokens.removeUserToken(null, id, BY)];
  },
  'the token expires': async (user) => {
    const { token } = await newToken(user, 60);
    return [{ token }, () => server.clock.advance(60_000)];
  },
  'the user leaves the organization': async (user) => [
    { user },
    () => server.auth.organizations.removeMember(server.org, user, BY),
  ],
  'the user leaves the group that may read': async (user) => {
    const members = (users: string[]) => ({ users: ['admin', 'normal', ...users], clients: [], groups: [] });
    await server.auth.groups.put(server.org, 'push_job_readers', members([user]), BY);
    return [{ user }, () => server.auth.groups.put(server.org, 'push_job_readers', members([]), BY)];
  },
  'a group is made that alone may read': async (user) => {
    const members = { users: ['admin', 'normal'], clients: [], groups: [] };
    return [{ user }, () => server.auth.groups.put(server.org, 'push_job_readers', members, BY)];
  },
};

describe.each(Object.entries(STREAMS))('%s breaks off', (_what, path) => {
  it.each(Object.entries(CAUSES))('for its reader when %s', async (_cause, prepare) => {
    const [proof, lose] = await prepare(await newReader());
    const abort = new AbortController();
    const other = await server.send({ path: path(), as: 'normal user', signal: abort.signal });
    const stream = await open(path(), proof);
    const end = broken(stream);
    await lose();
    await end;
    const read = other.text();
    const first = await Promise.race([read.catch(() => 'ended'), new Promise(setImmediate).then(() => 'open')]);
    expect(first, 'the stream of somebody else').toBe('open');
    abort.abort();
    await expect(read).rejects.toThrow('aborted');
  });
});

// What shows one job is open while the job runs, and then the organization cannot be deleted.
it('the feed of the organization breaks off when the organization is deleted', async () => {
  const organization = await server.auth.organizations.create('gone', BY);
  const user = await newReader(organization);
  const end = broken(await open('/organizations/gone/pushy/job_status_feed', { user }));
  await server.auth.organizations.remove(organization, BY);
  await end;
});

it('a right that is lost between the check and the opening ends the stream, too', async () => {
  const { standing } = server.auth;
  const identity = {
    principalId: 'nobody',
    type: 'user',
    name: 'nobody',
    serverAdmin: false,
    publicKey: null,
  } as const;
  const ground = {
    identity,
    credential: { kind: 'key', pem: '', expiresMs: null },
    organization: server.org,
    permission: 'push:read',
  } as const;
  const before = standing.changes;
  await newReader();
  await new Promise<void>((lost) => standing.watch({ ...ground, subject: undefined }, before, lost));
});

it('nothing is watched when nothing is open', async () => {
  await expect.poll(() => server.auth.standing.size).toBe(0);
});
