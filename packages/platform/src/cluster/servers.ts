import { type Clock, every, type Timer } from '@muster/base';
import { lastHolder, type Store, upsert } from '@muster/store';
import type { LayerLog } from '../upkeep/logging.js';
import { LEADER_LEASE } from './election.js';
import { CLUSTER_LIMITS } from './limits.js';
import './tables.js';

/** What a server tells the others of itself. */
export interface OwnServer {
  readonly incarnation: string;
  readonly name: string;
  readonly url: string;
  readonly certificate: string | null;
  readonly version: string;
  readonly startedAt: number;
}

/** One server of the cluster as it is shown. */
export interface ClusterServer extends OwnServer {
  readonly seenAt: number;
  /** It has not written anything of itself for a while. */
  readonly lost: boolean;
  readonly drained: boolean;
  /** When it leads: under which epoch. */
  readonly epoch: number | null;
  /** When it leads: when its lease ends unless it is renewed, by its own clock. */
  readonly leaseEndsAt: number | null;
}

/** Where requests are passed on to. */
export interface Leader {
  readonly incarnation: string;
  readonly name: string;
  readonly url: string;
  readonly certificate: string | null;
  readonly epoch: number;
}

const presence = upsert(
  'cluster_servers',
  {
    incarnation: 'text',
    name: 'text',
    url: 'text',
    certificate: 'text',
    version: 'text',
    started_at: 'integer',
    seen_at: 'integer',
  },
  ['incarnation'],
);

export interface ClusterServersDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: LayerLog;
  readonly own: OwnServer;
}

/** The servers of the cluster, as the database has them; this one writes itself down. */
export class ClusterServers {
  readonly #deps: ClusterServersDeps;
  #timer: Timer | null = null;
  #writing: Promise<void> | null = null;
  #known: readonly ClusterServer[] = [];
  /** By their URL, those that are gone, too. */
  readonly #met = new Map<string, ClusterServer>();

  constructor(deps: ClusterServersDeps) {
    this.#deps = deps;
  }

  /** As they were last looked at. */
  get known(): readonly ClusterServer[] {
    return this.#known;
  }

  /** Names of those that are drained, as of the last look. */
  get drained(): ReadonlySet<string> {
    return new Set(this.#known.filter(({ drained }) => drained).map(({ name }) => name));
  }

  /** Of all others of the last day where each is, or was: who does not see the database any more does not hear who came back. */
  get others(): readonly ClusterServer[] {
    return [...this.#met.values()].filter(({ url }) => url !== this.#deps.own.url);
  }

  async start(): Promise<void> {
    const { store, clock, own } = this.#deps;
    const forgotten = clock.now() - CLUSTER_LIMITS.forgetMs;
    // What an earlier process of this name wrote is over.
    await store.transact((trx) =>
      trx
        .deleteFrom('cluster_servers')
        .where((row) => row.or([row('name', '=', own.name), row('seen_at', '<', forgotten)]))
        .execute(),
    );
    await this.#write();
    await this.list();
    this.#timer = every(clock, CLUSTER_LIMITS.presenceMs, () => {
      this.#writing ??= this.#write()
        .then(() => this.list())
        .then(
          () => undefined,
          // Whoever looks sees for how long; the store says that the database is away.
          () => undefined,
        )
        .finally(() => {
          this.#writing = null;
        });
    });
  }

  async stop(): Promise<void> {
    const { store, own } = this.#deps;
    this.#timer?.cancel();
    await this.#writing;
    const forget = store.transact((trx) =>
      trx.deleteFrom('cluster_servers').where('incarnation', '=', own.incarnation).execute(),
    );
    await forget.catch(() => undefined);
  }

  /** All of them, by name. */
  async list(): Promise<readonly ClusterServer[]> {
    const { store, clock } = this.#deps;
    const [rows, drained, leads] = await Promise.all([
      store.read.selectFrom('cluster_servers').selectAll().orderBy('name').orderBy('incarnation').execute(),
      store.read.selectFrom('cluster_drained').select('name').execute(),
      lastHolder(this.#deps.store, LEADER_LEASE),
    ]);
    const now = clock.now();
    const names = new Set(drained.map(({ name }) => name));
    this.#known = rows
      .filter(({ seen_at }) => now - seen_at < CLUSTER_LIMITS.forgetMs)
      .map(({ seen_at: seenAt, started_at: startedAt, ...row }) => {
        const lease = leads?.holder === row.incarnation ? leads : null;
        return {
          ...row,
          startedAt,
          seenAt,
          lost: now - seenAt >= CLUSTER_LIMITS.lostMs,
          drained: names.has(row.name),
          epoch: lease?.epoch ?? null,
          leaseEndsAt: lease?.expiresAt ?? null,
        };
      });
    this.#meet(now);
    return this.#known;
  }

  #meet(now: number): void {
    for (const [url, one] of this.#met) {
      if (now - one.seenAt >= CLUSTER_LIMITS.forgetMs) this.#met.delete(url);
      else this.#met.set(url, { ...one, lost: true });
    }
    for (const one of this.#known) this.#met.set(one.url, one);
  }

  /** null: nobody leads. Whether it still does is not known before it answers. */
  async leader(): Promise<Leader | null> {
    const leads = await lastHolder(this.#deps.store, LEADER_LEASE);
    if (leads === undefined) return null;
    const row = await this.#deps.store.read
      .selectFrom('cluster_servers')
      .select(['incarnation', 'name', 'url', 'certificate'])
      .where('incarnation', '=', leads.holder)
      .executeTakeFirst();
    return row === undefined ? null : { ...row, epoch: leads.epoch };
  }

  async isDrained(name: string): Promise<boolean> {
    const found = await this.#deps.store.read
      .selectFrom('cluster_drained')
      .select('name')
      .where('name', '=', name)
      .executeTakeFirst();
    return found !== undefined;
  }

  async #write(): Promise<void> {
    const { store, clock, own } = this.#deps;
    const { startedAt, ...row } = own;
    await store.commit([presence({ ...row, started_at: startedAt, seen_at: clock.now() })]);
  }
}
