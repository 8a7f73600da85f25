import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Persona, Reply } from './support/api-client.js';
import { Fleet } from './support/fleet.js';
import { createPersonas, type Personas, withReadersAndWriters } from './support/personas.js';
import { until } from './support/until.js';

/** Acceptance list, reference sheet §9.6: `/organizations/ORG/pushy/node_states[/NODE]`, and the node object of §9.10. */
let fleet: Fleet;
let personas: Personas;

beforeAll(async () => {
  fleet = await Fleet.start();
  personas = await createPersonas(fleet.api);
  await fleet.register('known');
});
afterAll(() => fleet.stop());

const list = (persona: Persona): Promise<Reply> => fleet.api.as(persona).get('pushy/node_states');
const one = (persona: Persona): Promise<Reply> => fleet.api.as(persona).get('pushy/node_states/known');

const NO_ACCESS = (name: string) => ({
  error: [`User or client '${name}' does not have access to that action on this server.`],
});

describe('verbs', () => {
  test.each([
    ['NODES-1', 'PUT', 'pushy/node_states'],
    ['NODES-2', 'POST', 'pushy/node_states'],
    ['NODES-3', 'DELETE', 'pushy/node_states'],
    ['NODES-4', 'PUT', 'pushy/node_states/known'],
    ['NODES-5', 'POST', 'pushy/node_states/known'],
    ['NODES-6', 'DELETE', 'pushy/node_states/known'],
  ])('%s %s %s is not allowed', async (_, method, path) => {
    expect((await fleet.api.call(method, fleet.api.path(path))).status).toBe(405);
  });
});

describe('access without groups', () => {
  test.each([
    ['NODES-7', 'admin', 200],
    ['NODES-8', 'normal', 200],
    ['NODES-9', 'memberClient', 200],
    ['NODES-10', 'invalid', 401],
    ['NODES-11', 'outside', 403],
    ['NODES-12', 'bogusClient', 401],
  ] as const)('%s GET the list as %s: %i', async (_, persona, status) => {
    expect((await list(personas[persona])).status).toBe(status);
  });

  test.each([
    ['NODES-13', 'admin', 200],
    ['NODES-14', 'normal', 200],
    ['NODES-15', 'memberClient', 200],
    ['NODES-16', 'invalid', 401],
    ['NODES-17', 'outside', 403],
    ['NODES-18', 'bogusClient', 401],
  ] as const)('%s GET a node as %s: %i', async (_, persona, status) => {
    expect((await one(personas[persona])).status).toBe(status);
  });

  test('NODES-16 tells an unknown user what is wrong', async () => {
    expect((await one(personas.invalid)).json).toEqual({
      error: ["Failed to authenticate as 'invalid'. Ensure that your node_name and client key are correct."],
    });
  });

  test('NODES-17 tells an outside user what is wrong', async () => {
    expect((await one(personas.outside)).json).toEqual({
      error: ["'outside-user' is not associated with organization 'default'"],
    });
  });

  test('NODES-13 differs by N4: a known node that never connected is down, with the reason and time', async () => {
    const reply = await one(personas.admin);
    expect(reply.json).toMatchObject({
      node_name: 'known',
      status: 'down',
      availability: 'unavailable',
      updated_at: expect.any(String),
      reason: expect.any(String),
    });
  });
});

test.each([['NODES-19'], ['NODES-20']])('%s differs by N4: an unknown node is not found', async () => {
  expect((await fleet.api.get('pushy/node_states/some_node')).status).toBe(404);
});

describe.each([
  ['NODES-21..30', 'listed in the readers group', false],
  ['NODES-31..38', 'in a group nested in the readers group', true],
])('%s access %s', (_, __, nested) => {
  const grouped = (call: () => Promise<Reply>): Promise<Reply> => withReadersAndWriters(fleet.api, nested, call);

  test.each([
    ['normal', 200],
    ['admin', 403],
    ['memberClient', 200],
    ['adminClient', 403],
    ['outside', 403],
  ] as const)('as %s: %i', async (persona, status) => {
    const replies = [await grouped(() => list(personas[persona])), await grouped(() => one(personas[persona]))];
    expect(replies.map((reply) => reply.status)).toEqual([status, status]);
    if (persona === 'admin') expect(replies[0]?.json).toEqual(NO_ACCESS('admin'));
  });
});

test.each([
  ['NODES-39', 'node_states'],
  ['NODES-40', 'node_states/known'],
])('%s an organization that does not exist', async (_, path) => {
  expect((await fleet.api.call('GET', `/organizations/nowhere/pushy/${path}`)).status).toBe(404);
});

describe('the node object (sheet §9.10)', () => {
  test('a node that does not answer abort is up and unavailable, also after more heartbeats', async () => {
    const node = await fleet.connect('REHAB');
    node.hooks.abort = () => false;
    await until('the node to be up', async () => (await fleet.nodeState('REHAB'))?.status === 'up');
    await node.waitFor('abort', 3);
    expect(await fleet.nodeState('REHAB')).toMatchObject({ status: 'up', availability: 'unavailable' });
    node.send('aborted');
    await fleet.available('REHAB');
  });

  test('a silent node is down and unavailable', async () => {
    const node = await fleet.node('SILENT');
    node.stop();
    await fleet.down('SILENT');
    expect(await fleet.nodeState('SILENT')).toMatchObject({ status: 'down', availability: 'unavailable' });
  });

  test('an oversized message does no harm', async () => {
    const node = await fleet.node('LOUD');
    node.send('heartbeat', { job_state: 'idle', padding: 'x'.repeat(70_000) });
    const id = await fleet.startJob({ command: 'this_oughta_succeed', nodes: ['LOUD'] });
    await fleet.jobIs(id, 'complete');
    expect((await fleet.job(id)).nodes).toEqual({ succeeded: ['LOUD'] });
  });

  test('a message that is no JSON, or has three frames, or a wrong signature does no harm', async () => {
    const node = await fleet.node('ODD');
    const garbage = 'Version:2.0;SigningMethod:hmac_sha256;Signature:AAAA';
    node.sendFrames([garbage, 'not json']);
    node.sendFrames([garbage, '{}']);
    node.sendFrames([garbage, '{"org":"nowhere","node":"ODD"}']);
    node.sendFrames([garbage]);
    node.sendFrames([garbage, '{}', '{}']);
    node.sendFrames(['', '']);
    node.sendFrames([new Uint8Array(5000), new Uint8Array(10)]);
    const id = await fleet.startJob({ command: 'this_oughta_succeed', nodes: ['ODD'] });
    expect((await fleet.jobIs(id, 'complete')).nodes).toEqual({ succeeded: ['ODD'] });
  });

  test('a node that names a job that is not live in its heartbeat goes to rehab', async () => {
    const node = await fleet.node('STRAY');
    const aborts = node.got('abort').length;
    node.send('heartbeat', { job_state: 'running', job_id: 'f'.repeat(32) });
    await node.waitFor('abort', aborts + 1);
    await fleet.available('STRAY');
  });

  test('a heartbeat without job_id sends the node to rehab (sheet §4.1)', async () => {
    const node = await fleet.node('VAGUE');
    const aborts = node.got('abort').length;
    node.send('heartbeat', { job_state: 'idle', job_id: undefined });
    await node.waitFor('abort', aborts + 1);
    await fleet.available('VAGUE');
  });

  test('a node on a new connection is told so with ack', async () => {
    const node = await fleet.node('MOVED');
    await node.reconfigure();
    await node.waitFor('ack');
    await fleet.available('MOVED');
  });

  test('the list has every known node (N4)', async () => {
    const states = (await list(personas.admin)).json as { node_name: string }[];
    expect(states.map((state) => state.node_name)).toEqual(expect.arrayContaining(['known', 'REHAB', 'SILENT']));
  });

  test('a node agrees on a configuration signed with version 1.3, too', async () => {
    await fleet.node('MODERN', { signingVersion: '1.3' });
  });
});
