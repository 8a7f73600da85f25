import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@muster/base';
import { open } from '@muster/store';
import { afterEach, describe, expect, it } from 'vitest';
import { CLUSTER_LIMITS } from '../src/cluster/limits.js';
import { clusterMigrations } from '../src/cluster/migrations.js';
import { ClusterServers } from '../src/cluster/servers.js';
import { askOthers } from '../src/cluster/witnesses.js';

/** Whom a leader asks that the database does not answer any more, and what it makes of who is silent. */

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** One that knows of this epoch; null: nobody is there. */
async function other(epoch: number | null, lost: boolean) {
  const server = createServer((_, answer) => answer.end(JSON.stringify({ cluster: { epoch } })));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  if (epoch === null) server.close();
  else servers.push(server);
  return { url: `http://127.0.0.1:${port}`, certificate: null, lost };
}

describe('of other servers', () => {
  it.each<[string, [number | null, boolean][], object]>([
    [
      'the newest epoch counts',
      [
        [3, false],
        [5, false],
      ],
      { epoch: 5, asked: 2 },
    ],
    ['one that is silent was asked all the same', [[null, false]], { epoch: null, asked: 1 }],
    ['one that was lost and is back is believed', [[15, true]], { epoch: 15, asked: 1 }],
    ['one that was lost and is silent makes nobody isolated', [[null, true]], { epoch: null, asked: 0 }],
  ])('%s', async (_, asked, expected) => {
    const there = await Promise.all(asked.map((one) => other(...one)));
    expect(await askOthers(there)).toEqual(expected);
  });
});

describe('who is asked', () => {
  const dir = mkdtempSync(join(tmpdir(), 'muster-test-'));
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  it('is everybody who was there within a day, and not the server itself', async () => {
    const clock = new ManualClock();
    const log = { info: () => undefined, warn: () => undefined, error: () => undefined, debug: () => undefined };
    const store = await open(
      { kind: 'sqlite', path: join(dir, 'muster.db') },
      { clock, migrations: [clusterMigrations] },
    );
    const own = (name: string) => ({
      ...{ incarnation: name, name, url: `http://${name}`, certificate: null, version: '1' },
      startedAt: clock.now(),
    });
    const [a, b] = ['a', 'b'].map((name) => new ClusterServers({ store, clock, log, own: own(name) }));
    if (a === undefined || b === undefined) throw new Error('two were made');
    await b.start();
    await a.start();
    const asked = () => a.others.map(({ name, lost }) => [name, lost]);
    expect(asked()).toEqual([['b', false]]);
    // Stopped in order it is not in the database any more, and may be back at any time.
    await b.stop();
    await a.list();
    expect(asked()).toEqual([['b', true]]);
    clock.advance(CLUSTER_LIMITS.forgetMs);
    await a.list();
    expect(asked()).toEqual([]);
    await a.stop();
    await store.close();
  });
});
