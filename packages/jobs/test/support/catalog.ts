import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedBroker } from '@muster/broker';
import type { Organization } from '@muster/platform/auth';
import type { Recorder } from '@muster/platform/log';
import { SealingKey } from '@muster/platform/secrets';
import type { Store } from '@muster/store';
import { openRecorder } from '../../../platform/test/support/recorder.js';
import { openTestStore } from '../../../platform/test/support/test-store.js';
import { AppStore } from '../../src/apps/app-store.js';
import { JobQueues } from '../../src/routing/job-queues.js';
import { SystemStore } from '../../src/systems/system-store.js';

export const ORG: Organization = { id: 'a'.repeat(32), name: 'acme' };

/** What one server has in memory of apps, systems and queues, over its own connection. */
export interface Catalog {
  readonly apps: AppStore;
  readonly systems: SystemStore;
  readonly queues: JobQueues;
  readonly broker: EmbeddedBroker;
  readonly recorder: Recorder;
  readonly logged: string[];
}

export async function openCatalog() {
  const test = await openTestStore();
  const directory = mkdtempSync(join(tmpdir(), 'muster-secrets-'));
  const secrets = SealingKey.open(join(directory, 'key'), { make: true });
  const opened: { readonly catalog: Catalog; readonly broker: EmbeddedBroker }[] = [];
  const catalogOn = async (store: Store, name: string, key = secrets): Promise<Catalog> => {
    const { clock } = test;
    const logged: string[] = [];
    const log = (_about: object, text: string) => void logged.push(text);
    const logger = { info: log, warn: log, error: log };
    const random = (size: number) => crypto.getRandomValues(new Uint8Array(size));
    const broker = await EmbeddedBroker.open({ store, clock, log: logger, holder: name });
    const recorder = await openRecorder(store, clock);
    const deps = { store, recorder, clock, random, broker, logger, secrets: key };
    const catalog = {
      apps: new AppStore(deps),
      systems: new SystemStore(deps),
      queues: new JobQueues(deps),
      broker,
      recorder,
      logged,
    };
    opened.push({ catalog, broker });
    return catalog;
  };
  return {
    ...test,
    ...(await catalogOn(test.store, 'one')),
    secrets,
    /** The same systems, with another key. */
    withKey: (key: SealingKey) => catalogOn(test.store, 'three', key),
    /** What another server on the same database has. On SQLite there is none: it shares the store. */
    another: async () => catalogOn(test.store.kind === 'postgres' ? await test.another() : test.store, 'two'),
    close: async () => {
      for (const { catalog, broker } of opened) {
        for (const part of [catalog.apps, catalog.systems, catalog.queues]) part.stop();
        await broker.close();
      }
      await test.close();
      rmSync(directory, { recursive: true });
    },
  };
}

export type OpenCatalog = Awaited<ReturnType<typeof openCatalog>>;
