import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Cluster } from './support/cluster.js';
import { HeldCommand } from './support/held-command.js';
import { type Balancer, Behind, type Members, said, threeServers } from './support/members.js';
import { nextVersion } from './support/other-version.js';
import { until } from './support/until.js';

/** Versions N and N+1 side by side: the servers of a cluster are upgraded one after the other, to one with a table more. */

const NEXT = '9.9.9';

let cluster: Cluster;
let members: Members;
let balancer: Balancer;
let next: string;
let held: HeldCommand;

interface Status {
  readonly leader: string;
  readonly servers: readonly { readonly name: string; readonly version: string; readonly nodes: number }[];
}
const status = (): Promise<Status> => cluster.json('cluster', 'status');
const versions = async (): Promise<Readonly<Record<string, string>>> =>
  Object.fromEntries((await status()).servers.map(({ name, version }) => [name, version]));
const follows = (name: string, leader: string): Promise<unknown> =>
  until(`${name} to follow ${leader}`, async () => (await said(members.named(name).url))?.leader === leader);

/** A push job, asked of each server by its own address. */
async function allServe(): Promise<void> {
  const { name: leader } = await members.leader();
  for (const { name, url, process } of members.all) {
    if (process.exit !== null) continue;
    await follows(name, leader);
    const through = new Behind(url, cluster.dataDir);
    const id = await through.startJob({ command: 'quick', nodes: ['n1', 'n2'] });
    await through.jobIs(id, 'complete');
  }
}

beforeAll(async () => {
  ({ cluster, members, balancer } = await threeServers());
  next = nextVersion(join(cluster.dir, 'next'), NEXT);
  held = new HeldCommand(cluster.dir, 'held');
  await cluster.startAgents({
    n1: { commands: { quick: 'true', held: held.entry } },
    n2: { commands: { quick: 'true', held: held.entry } },
  });
});
afterAll(async () => {
  balancer.close();
  await members.close();
});

test('followers first: they pass on to an older leader, and change nothing in its database', async () => {
  const leader = await members.leader();
  const present = (await versions())[leader.name];
  for (const { name } of members.all.filter((one) => one !== leader)) {
    await members.replace(name, next);
    await follows(name, leader.name);
    await cluster.available('n1', 'n2');
    await allServe();
  }
  expect(Object.entries(await versions()).sort()).toEqual(
    ['a', 'b', 'c'].map((name) => [name, name === leader.name ? present : NEXT]),
  );
});

test('the leader last: what ran goes on, the database is brought up to date, and an older server that comes back passes on and never leads', async () => {
  const before = await members.leader();
  const id = await cluster.startJob({ command: 'held', nodes: ['n1', 'n2'] });
  await until('both to run', async () => held.runs.length === 2);
  await before.process.kill('SIGTERM');
  const after = await members.leader(before.name);
  held.release();
  await cluster.jobIs(id, 'complete');
  expect(held.runs).toEqual(['n1', 'n2']);

  // Put back by mistake: of the older version, over the tables of the newer.
  members.again(before.name);
  await follows(before.name, after.name);
  await cluster.available('n1', 'n2');
  await allServe();
  const third = members.all.find((one) => one !== before && one !== after);
  await after.process.kill('SIGKILL');
  expect((await members.leader(after.name)).name).toBe(third?.name);
  await third?.process.kill('SIGKILL');
  await until('it to say why it does not lead', async () =>
    before.process.log.includes('the database was brought up to date by a newer version: upgrade this server'),
  );
  expect((await said(before.url))?.role).toBe('follower');

  await members.replace(before.name, next);
  await members.leader();
  for (const one of [after, third]) if (one !== undefined) members.again(one.name);
  await until('all three', async () => Object.values(await versions()).every((version) => version === NEXT));
  await cluster.available('n1', 'n2');
  await allServe();
  expect(members.harm()).toEqual([]);
});
