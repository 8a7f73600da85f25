import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@muster/base';
import { brokerMigrations, EmbeddedBroker } from '@muster/broker';
import { open, type Store } from '@muster/store';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Router } from '../src/embedded/router.js';
import { silent, topologyOf } from './conformance/suite.js';

const NAMES = { queue: 'q', exchange: 'x', topics: 't', alternate: 'alt', dead: 'dead' };

describe('where messages go, with other processes at the database', () => {
  let directory: string;
  let store: Store;
  let broker: EmbeddedBroker;
  let reads = 0;
  let router: Router;

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'muster-broker-'));
    const path = join(directory, 'muster.db');
    const around = { migrations: [brokerMigrations], clock: systemClock, log: silent, exclusive: false };
    store = await open({ kind: 'sqlite', path }, around);
    broker = await EmbeddedBroker.open({ store, clock: systemClock, log: silent, holder: 'one', alone: false });
    await broker.declare(topologyOf(NAMES));
    reads = 0;
    const counted = new Proxy(store, {
      get(of, name) {
        if (name === 'read') reads++;
        return Reflect.get(of, name, of);
      },
    });
    router = new Router(counted, false);
  });

  afterEach(async () => {
    await broker.close();
    await store.close();
    rmSync(directory, { recursive: true });
  });

  test.each([
    ['x', 'q'],
    ['t', 'job.1'],
  ])('is found with a few reads for a thousand who ask at one time: %s', async (name, key) => {
    const asked = Array.from({ length: 1000 }, () => router.route(name, key));
    const found = new Set((await Promise.all(asked)).map(String));
    expect(found.size).toBe(1);
    // Two of each exchange, twice for who ask first and who ask meanwhile, and the topic's once more before its alternate is taken.
    expect(reads).toBeLessThanOrEqual(12);
  });

  test('is what it was when somebody asked, or later, whatever was being read then', async () => {
    const before = router.route('t', 'new');
    await broker.declare({
      exchanges: [],
      queues: [{ name: 'late', kind: 'quorum' }],
      bindings: [{ exchange: 't', queue: 'late', key: 'new' }],
    });
    const after = router.route('t', 'new');
    await before;
    expect(await after).toContain('late');
  });
});
