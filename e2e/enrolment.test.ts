import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from './support/cluster.js';

/** How agents come to belong to a server. */
let cluster: Cluster;

beforeAll(async () => {
  cluster = await Cluster.start();
});
afterAll(() => cluster.stop());

test('an agent that starts before its server joins as soon as the server is there', async () => {
  const token = await cluster.enrolToken(1);
  await cluster.killServer('SIGTERM');
  cluster.configureAgent('early', {});
  const agent = cluster.launchAgent('early', token);
  await agent.logged(/cannot reach|ECONNREFUSED/);
  await cluster.restartServer();
  await cluster.available('early');
});

test('an agent that has enrolled starts again without a token', async () => {
  expect((await cluster.agent('early').kill('SIGTERM')).code).toBe(0);
  await cluster.down('early');
  cluster.launchAgent('early');
  await cluster.available('early');
});

test('a token works as often as it says, and no more', async () => {
  const token = await cluster.enrolToken(1);
  cluster.configureAgent('first', {});
  cluster.launchAgent('first', token);
  await cluster.available('first');
  cluster.configureAgent('second', {});
  const second = cluster.launchAgent('second', token);
  expect((await second.exited).code).not.toBe(0);
  expect(second.log).toContain('the token is unknown, used up or expired');
});

test('a name that is taken is refused to another key', async () => {
  const token = await cluster.enrolToken(5);
  await cluster.agent('first').kill('SIGTERM');
  rmSync(join(cluster.agentDir('first'), 'client.pem'));
  const thief = cluster.launchAgent('first', token);
  expect((await thief.exited).code).not.toBe(0);
  expect(thief.log).toContain("'first' already exists");
});

test('removed by an admin, the name is free again', async () => {
  await cluster.down('first');
  await cluster.json('node', 'rm', 'first', '--yes');
  cluster.launchAgent('first', await cluster.enrolToken(1));
  await cluster.available('first');
});

test('an agent whose node was removed is refused', async () => {
  // Its connection ends, so it asks, and its log says why.
  await cluster.json('node', 'rm', 'early', '--yes', '--force');
  expect((await cluster.api.get('pushy/node_states/early')).status).toBe(404);
  await cluster.agent('early').logged(/Failed to authenticate.+has an admin removed the key or the node/);
});

test('started with a token it enrols again, with a new key', async () => {
  const key = join(cluster.agentDir('early'), 'client.pem');
  const old = readFileSync(key, 'utf8');
  await cluster.agent('early').kill('SIGTERM');
  cluster.launchAgent('early', await cluster.enrolToken(1));
  await cluster.available('early');
  expect(readFileSync(key, 'utf8')).not.toBe(old);
  expect(readFileSync(`${key}.old`, 'utf8')).toBe(old);
});
