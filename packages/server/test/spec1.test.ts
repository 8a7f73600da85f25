import { afterEach, expect, test } from 'vitest';
import { curveKeyPair } from 'zeromq';
import { newKey, sharedKey } from '../../platform/test/support/personas.js';
import { Spec1Client } from './support/spec1-client.js';
import { startTestServer, type TestServer } from './support/test-server.js';

/** The specification's own protocol 1.0 against a whole server (N1, Push Jobs §3.2, §5.7, §7). */

interface Configuration {
  readonly public_key: string;
  readonly curve_public_key?: string;
  readonly push_jobs: { readonly heartbeat: { readonly out_addr: string; readonly command_addr: string } };
}

const PUSHY = '/organizations/default/pushy';
const NODE = { name: 'node123.foo.com', privateKey: sharedKey().privateKey };

let server: TestServer;
const clients: Spec1Client[] = [];

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await server.stop();
});

async function start(flags: Readonly<Record<string, string>>): Promise<void> {
  server = await startTestServer({ flags: { 'heartbeat-interval': '0.2', ...flags } });
  const body = { name: NODE.name, public_key: sharedKey().publicKey };
  expect((await server.api.post('/organizations/default/nodes', body)).status).toBe(201);
}

function connect(configuration: Configuration, privateKey = NODE.privateKey): Spec1Client {
  const { out_addr: heartbeat, command_addr: command } = configuration.push_jobs.heartbeat;
  const client = new Spec1Client(NODE.name, privateKey, configuration.public_key);
  clients.push(client);
  client.connect({ heartbeat, command });
  return client;
}

const status = async () => (await server.api.get(`${PUSHY}/node_states/${NODE.name}`)).body;

const isAvailable = async () => ((await status()) as { availability: string }).availability === 'available';

async function metric(line: RegExp): Promise<string | undefined> {
  return line.exec((await server.api.get('/metrics')).text)?.[1];
}

/** Heartbeats that say so until `done`; the server has no other way to notice. */
async function until(client: Spec1Client, state: string, done: () => Promise<boolean>): Promise<void> {
  while (!(await done())) await client.send({ state });
}

const SPEC1 = { 'spec1-heartbeat': 'tcp://127.0.0.1:0', 'spec1-command': 'tcp://127.0.0.1:0' };

/** Connected, heard and out of rehab. */
async function available(): Promise<Spec1Client> {
  await start(SPEC1);
  const answer = await server.api.as(NODE).get(`${PUSHY}/connect/${NODE.name}`);
  expect(answer.status).toBe(200);
  const configuration = answer.body as Configuration;
  expect(configuration.curve_public_key).toBeUndefined();
  const client = connect(configuration);
  expect(await client.serverHeartbeat()).toMatchObject({ type: 'heartbeat', sequence: expect.any(Number) });

  await client.send({ type: 'ready' });
  await until(client, 'idle', isAvailable);
  expect(client.aborted).toBeGreaterThan(0);

  return client;
}

test('a spec 1.0 client runs a job to its end', async () => {
  const client = await available();
  const posted = await server.api.post(`${PUSHY}/jobs`, { command: 'chef-client', nodes: [NODE.name] });
  expect(posted.status).toBe(201);
  const { id } = posted.body as { id: string };
  expect(await client.receive()).toMatchObject({ type: 'prepare', job_id: id, command: 'chef-client' });
  await client.send({ type: 'ack', job_id: id });
  expect(await client.receive()).toMatchObject({ type: 'start', job_id: id });
  await client.send({ type: 'started', job_id: id });
  await client.send({ type: 'finished', job_id: id, state: 'OK' });

  const job = async () => (await server.api.get(`${PUSHY}/jobs/${id}`)).body as { status: string };
  await until(client, 'idle', async () => (await job()).status === 'complete');
  expect(await job()).toMatchObject({ status: 'complete', nodes: { succeeded: [NODE.name] } });
});

test.each([
  ['user', { user: 'nobody' }],
  ['dir', { dir: '/tmp' }],
  ['env', { env: { A: 'b' } }],
  ['file', { file: 'raw:x' }],
])('a job with %s, which its protocol cannot carry, is refused in its name at once', async (option, more) => {
  const client = await available();
  const posted = await server.api.post(`${PUSHY}/jobs`, { command: 'chef-client', nodes: [NODE.name], ...more });
  const { id } = posted.body as { id: string };
  const job = async () => (await server.api.get(`${PUSHY}/jobs/${id}`)).body;
  await expect.poll(job).toMatchObject({ status: 'quorum_failed', nodes: { nacked: [NODE.name] } });
  expect((await server.api.get(`${PUSHY}/jobs/${id}/nodes`)).body).toMatchObject([
    { status: 'nacked', reason: `its protocol (spec1) cannot carry ${option}` },
  ]);
  await until(client, 'idle', isAvailable);
});

test('who signs with another key is not heard', async () => {
  await start(SPEC1);
  const { body } = await server.api.as(NODE).get(`${PUSHY}/connect/${NODE.name}`);
  const impostor = connect(body as Configuration, newKey().privateKey);
  await until(impostor, 'idle', async () => {
    const dropped = await metric(/^muster_messages_dropped_total\{[^}]*cause="bad_sig"[^}]*\} (\d+)/m);
    return dropped !== undefined && dropped !== '0';
  });
  expect(await status()).toMatchObject({ status: 'down' });
});

test('unless it is asked for, a spec 1.0 client is refused', async () => {
  await start({});
  const without = await server.api.as(NODE).get(`${PUSHY}/connect/${NODE.name}`);
  expect([without.status, without.headers.get('x-muster-error')]).toEqual([400, 'missing_ccpk']);

  // Nor with the addresses of a configuration for others: nothing unencrypted passes the command socket.
  const ccpk = encodeURIComponent(curveKeyPair().publicKey);
  const { body } = await server.api.as(NODE).get(`${PUSHY}/config/${NODE.name}?ccpk=${ccpk}`);
  const client = connect(body as Configuration);
  await client.refused;
  expect(await status()).toMatchObject({ status: 'down' });
  expect(await metric(/^muster_messages_received_total\{[^}]*\} (\d+)/m)).toBeUndefined();
});
