import { ManualClock } from '@muster/base';
import { afterEach, describe, expect, it } from 'vitest';
import { CLUSTER_LIMITS } from '../src/cluster/limits.js';
import type { ClusterServer } from '../src/cluster/servers.js';
import { ClusterWatch } from '../src/cluster/watch.js';

const clock = new ManualClock();
const told: string[] = [];
let away = false;
let known: readonly ClusterServer[] = [];
let watch: ClusterWatch | null = null;

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

afterEach(async () => {
  await watch?.stop();
  told.length = 0;
  away = false;
});

/** Takes over where these servers are. */
async function lead(...servers: ClusterServer[]): Promise<void> {
  known = servers;
  watch = new ClusterWatch({
    ...{ name: 'a', epoch: 7, clock },
    servers: {
      get known() {
        return known;
      },
    },
    changes: {
      apply: async ({ action, target, concerns }) => {
        if (away) throw new Error('the database is away');
        told.push(`${action} ${target} ${concerns}`);
        return undefined as never;
      },
    },
    failed: () => undefined,
  });
  watch.start();
  await settled();
}

const settled = () => new Promise(setImmediate);

async function then(...servers: ClusterServer[]): Promise<string[]> {
  told.length = 0;
  known = servers;
  clock.advance(CLUSTER_LIMITS.presenceMs);
  await settled();
  return [...told];
}

describe('who leads tells everybody', () => {
  it('that it does, and nothing of the servers that it found', async () => {
    await lead(server('a'), server('b'), server('c', true));
    expect(told).toEqual(['cluster.lead a everybody']);
    expect(await then(server('a'), server('b'), server('c', true))).toEqual([]);
  });

  it('which servers come, stop, are lost and are heard of again', async () => {
    await lead(server('a'), server('b'));
    expect(await then(server('a'), server('b'), server('c'))).toEqual(['cluster.join c everybody']);
    expect(await then(server('a'), server('b', true), server('c'))).toEqual(['cluster.lost b everybody']);
    expect(await then(server('a'), server('b'))).toEqual(['cluster.join b everybody', 'cluster.leave c everybody']);
    expect(await then(server('a'), server('b', true))).toEqual(['cluster.lost b everybody']);
    expect(await then(server('a'))).toEqual([]);
  });

  it('later, once each, when the database was away', async () => {
    await lead(server('a'), server('b'));
    away = true;
    expect(await then(server('a'), server('b', true))).toEqual([]);
    expect(await then(server('a'))).toEqual([]);
    away = false;
    expect(await then(server('a'))).toEqual(['cluster.lost b everybody']);
    expect(await then(server('a'))).toEqual([]);
  });
});
