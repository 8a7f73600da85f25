import { ManualClock } from '@muster/base';
import { openMemory, type Store } from '@muster/store';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { clusterMigrations } from '../src/cluster/migrations.js';
import type { ClusterServer } from '../src/cluster/servers.js';
import { ClusterWatch } from '../src/cluster/watch.js';

const clock = new ManualClock();
const told: string[] = [];
let away = false;
let store: Store;
let known: readonly ClusterServer[] = [];
let watch: ClusterWatch;

const server = (name: string, lost = false): ClusterServer => ({
  ...{
    name,
    lost,
    incarnation: name,
    url: `http://${name}`,
    certificate: null,
    version: '1',
    drained: false,
    epoch: null,
    leaseEndsAt: null,
  },
  ...{ startedAt: 0, seenAt: 0 },
});

beforeEach(async () => {
  store = (await openMemory(clock, [clusterMigrations])).connect({ clock });
  away = false;
});

afterEach(() => store.close());

/** It takes over, and tells where these servers are. */
function lead(name: string, ...servers: ClusterServer[]): Promise<string[]> {
  watch = new ClusterWatch({
    ...{ name, epoch: 7, clock, store },
    servers: {
      get known() {
        return known;
      },
    },
    changes: {
      apply: async ({ action, target, concerns }, work) => {
        if (away) throw new Error('the database is away');
        const result = await store.transact((trx) => work(trx, () => undefined));
        told.push(`${action} ${target} ${concerns}`);
        return result;
      },
    },
    failed: () => undefined,
  });
  return then(...servers);
}

/** What is told at the next look. */
async function then(...servers: ClusterServer[]): Promise<string[]> {
  told.length = 0;
  known = servers;
  watch.start();
  await watch.stop();
  return [...told];
}

describe('who leads tells everybody', () => {
  it('that it does, and of the servers that it found those of which nobody has told', async () => {
    const all = [server('a'), server('b'), server('c', true)];
    expect(await lead('a', ...all)).toEqual(['cluster.lead a everybody', 'cluster.join b everybody']);
    expect(await then(...all)).toEqual([]);
    expect(await lead('b', ...all)).toEqual(['cluster.lead b everybody']);
  });

  it('which servers come, stop, are lost and are heard of again', async () => {
    await lead('a', server('a'), server('b'));
    expect(await then(server('a'), server('b'), server('c'))).toEqual(['cluster.join c everybody']);
    expect(await then(server('a'), server('b', true), server('c'))).toEqual(['cluster.lost b everybody']);
    expect(await then(server('a'), server('b'))).toEqual(['cluster.join b everybody', 'cluster.leave c everybody']);
    expect(await then(server('a'), server('b', true))).toEqual(['cluster.lost b everybody']);
    expect(await then(server('a'))).toEqual([]);
    expect(await then(server('a'), server('b', true))).toEqual([]);
    expect(await then(server('a'), server('b'))).toEqual(['cluster.join b everybody']);
  });

  it('what became of the one that led before it, though it is lost before another leads', async () => {
    await lead('a', server('a'), server('b'), server('c'));
    expect(await lead('b', server('a', true), server('b'))).toEqual([
      'cluster.lead b everybody',
      'cluster.lost a everybody',
      'cluster.leave c everybody',
    ]);
    expect(await lead('c', server('a', true), server('b'), server('c'))).toEqual(['cluster.lead c everybody']);
  });

  it('later, once each, when the database was away', async () => {
    await lead('a', server('a'), server('b'));
    away = true;
    expect(await then(server('a'), server('b', true))).toEqual([]);
    expect(await then(server('a'), server('b', true))).toEqual([]);
    away = false;
    expect(await then(server('a'), server('b', true))).toEqual(['cluster.lost b everybody']);
    expect(await then(server('a'))).toEqual([]);
    away = true;
    expect(await lead('b', server('a'), server('b'))).toEqual([]);
    away = false;
    expect(await then(server('b'))).toEqual(['cluster.lead b everybody', 'cluster.leave a everybody']);
  });
});
