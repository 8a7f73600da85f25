import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@muster/base';
import { type Broker, brokerMigrations, EmbeddedBroker } from '@muster/broker';
import { open, type Store, type StoreLocation } from '@muster/store';
import { createTestDatabase } from '../../platform/test/support/database.js';
import { type Harness, silent } from './conformance/suite.js';

/** On PostgreSQL a store for each process; a SQLite file has one process, which stands for all of them. */
export async function embedded({ alone = false } = {}): Promise<Harness> {
  const database = await createTestDatabase();
  const directory = mkdtempSync(join(tmpdir(), 'muster-broker-'));
  const shared = database.url === undefined;
  const location: StoreLocation =
    database.url === undefined
      ? { kind: 'sqlite', path: join(directory, 'muster.db') }
      : { kind: 'postgres', url: database.url };
  const stores: Store[] = [];
  const brokers = new Map<Broker, () => void>();

  const openStore = async (): Promise<Store> => {
    const [first] = stores;
    if (shared && first !== undefined) return first;
    const store = await open(location, {
      migrations: [brokerMigrations],
      clock: systemClock,
      log: silent,
      exclusive: false,
    });
    stores.push(store);
    return store;
  };
  return {
    async open(holder, limits = {}) {
      const { store, cut } = severable(await openStore());
      const broker = await EmbeddedBroker.open({
        store,
        clock: systemClock,
        log: silent,
        holder,
        alone,
        limits,
      });
      brokers.set(broker, cut);
      return broker;
    },
    async kill(broker) {
      brokers.get(broker)?.();
    },
    async drop() {
      await Promise.all([...brokers.keys()].map((broker) => broker.close()));
      await Promise.all(stores.map((store) => store.close()));
      rmSync(directory, { recursive: true, force: true });
      await database.release();
    },
  };
}

/** A store that can be taken away from who uses it: nothing of what it does any more reaches the database. */
export function severable(store: Store): { readonly store: Store; cut(): void } {
  let severed = false;
  const gone = (): Promise<never> => Promise.reject(new Error('this process was killed'));
  return {
    cut: () => {
      severed = true;
    },
    store: {
      ...store,
      commit: (writes, stored) => (severed ? gone() : store.commit(writes, stored)),
      persist: (writes) => (severed ? gone() : store.persist(writes)),
      transact: (work) => (severed ? gone() : store.transact(work)),
      hints: {
        send: (topic, text) => (severed ? undefined : store.hints.send(topic, text)),
        listen: (topic, hear) => store.hints.listen(topic, (text) => (severed ? undefined : hear(text))),
      },
    },
  };
}
