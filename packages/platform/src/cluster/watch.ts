import { type Clock, every, type Timer } from '@muster/base';
import type { Store } from '@muster/store';
import type { Changes } from '../auth/changes.js';
import { SERVER } from '../auth/server-actor.js';
import type { Layer } from '../layers/layer.js';
import { CLUSTER_LIMITS } from './limits.js';
import type { ClusterServer } from './servers.js';
import './tables.js';

export interface ClusterWatchDeps {
  /** Of the server that leads. */
  readonly name: string;
  readonly epoch: number;
  readonly servers: { readonly known: readonly ClusterServer[] };
  readonly store: Pick<Store, 'read' | 'transact'>;
  readonly changes: Pick<Changes, 'apply'>;
  readonly clock: Clock;
  /** It could not be told now; that is tried again. */
  readonly failed: (error: unknown) => void;
}

interface Told {
  readonly action: 'cluster.lead' | 'cluster.join' | 'cluster.leave' | 'cluster.lost';
  readonly target: string;
}

/**
 * | was told | is there | is lost | is not there |
 * |---|---|---|---|
 * | there | | `cluster.lost` | `cluster.leave`: it has stopped |
 * | lost | `cluster.join` | | |
 * | not there | `cluster.join` | | |
 *
 * By their names: one that was started again meanwhile is what it was.
 */
function clusterNews(told: ReadonlyMap<string, boolean>, now: ReadonlyMap<string, boolean>): readonly Told[] {
  const news: Told[] = [];
  for (const [target, lost] of now) {
    if (lost && told.get(target) === false) news.push({ action: 'cluster.lost', target });
    if (!lost && told.get(target) !== false) news.push({ action: 'cluster.join', target });
  }
  for (const [target, lost] of told) if (!lost && !now.has(target)) news.push({ action: 'cluster.leave', target });
  return news;
}

/**
 * Tells what becomes of the servers, in the audit and to every organization, while this server leads. What was told is stored with it: what became of
 * a server while nobody led, the one that led before above all, the next one tells.
 */
export class ClusterWatch implements Layer {
  readonly #deps: ClusterWatchDeps;
  /** Whether each is lost, as it was told; null: not read yet. */
  #told: Map<string, boolean> | null = null;
  #timer: Timer | null = null;
  #telling: Promise<void> | null = null;

  constructor(deps: ClusterWatchDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#timer = every(this.#deps.clock, CLUSTER_LIMITS.presenceMs, () => this.#look());
    this.#look();
  }

  async stop(): Promise<void> {
    this.#timer?.cancel();
    await this.#telling;
  }

  #look(): void {
    this.#telling ??= this.#tell()
      .catch((error: unknown) => this.#deps.failed(error))
      .finally(() => {
        this.#telling = null;
      });
  }

  async #tell(): Promise<void> {
    const { name, servers } = this.#deps;
    if (this.#told === null) {
      const told = await this.#read();
      await this.#apply({ action: 'cluster.lead', target: name }, told);
      this.#told = told;
    }
    const now = new Map(servers.known.map(({ name, lost }) => [name, lost]));
    for (const next of clusterNews(this.#told, now)) await this.#apply(next, this.#told);
    await this.#forget(
      this.#told,
      [...this.#told.keys()].filter((each) => !now.has(each)),
    );
  }

  /** Those that were lost, and have not come back for so long that they are not listed any more. */
  async #forget(told: Map<string, boolean>, names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    await this.#deps.store.transact((trx) => trx.deleteFrom('cluster_told').where('name', 'in', names).execute());
    for (const name of names) told.delete(name);
  }

  async #read(): Promise<Map<string, boolean>> {
    const rows = await this.#deps.store.read.selectFrom('cluster_told').select(['name', 'lost']).execute();
    return new Map(rows.map(({ name, lost }) => [name, lost === 1]));
  }

  async #apply({ action, target }: Told, told: Map<string, boolean>): Promise<void> {
    const { changes, epoch } = this.#deps;
    const gone = action === 'cluster.leave';
    const lost = action === 'cluster.lost';
    const change = { orgId: null, concerns: 'everybody', actor: SERVER, detail: { epoch }, action, target } as const;
    await changes.apply(change, async (trx) => {
      await trx.deleteFrom('cluster_told').where('name', '=', target).execute();
      if (!gone)
        await trx
          .insertInto('cluster_told')
          .values({ name: target, lost: Number(lost) })
          .execute();
    });
    if (gone) told.delete(target);
    else told.set(target, lost);
  }
}
