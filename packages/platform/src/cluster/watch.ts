import { type Clock, every, type Timer } from '@muster/base';
import type { Changes } from '../auth/changes.js';
import { SERVER } from '../auth/server-actor.js';
import type { Layer } from '../layers/layer.js';
import { CLUSTER_LIMITS } from './limits.js';
import type { ClusterServer } from './servers.js';

export interface ClusterWatchDeps {
  /** Of the server that leads. */
  readonly name: string;
  readonly epoch: number;
  readonly servers: { readonly known: readonly ClusterServer[] };
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
 * | was | is there | is lost | is not there |
 * |---|---|---|---|
 * | there | | `cluster.lost` | `cluster.leave`: it has stopped |
 * | lost | `cluster.join` | | |
 * | not there | `cluster.join` | | |
 *
 * By their names: one that was started again meanwhile is what it was.
 */
function clusterNews(before: ReadonlyMap<string, boolean>, after: ReadonlyMap<string, boolean>): readonly Told[] {
  const news: Told[] = [];
  for (const [target, lost] of after) {
    const was = before.get(target);
    if (lost && was === false) news.push({ action: 'cluster.lost', target });
    if (!lost && was !== false) news.push({ action: 'cluster.join', target });
  }
  for (const [target, lost] of before) if (!lost && !after.has(target)) news.push({ action: 'cluster.leave', target });
  return news;
}

/** Tells what becomes of the servers, in the audit and to every organization, while this server leads. */
export class ClusterWatch implements Layer {
  readonly #deps: ClusterWatchDeps;
  /** Whether each is lost, as it was told, or as it was when this server took over. */
  #before: ReadonlyMap<string, boolean>;
  readonly #untold: Told[];
  #timer: Timer | null = null;
  #telling: Promise<void> | null = null;

  constructor(deps: ClusterWatchDeps) {
    this.#deps = deps;
    this.#before = this.#now();
    this.#untold = [{ action: 'cluster.lead', target: deps.name }];
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
    const now = this.#now();
    this.#untold.push(...clusterNews(this.#before, now));
    this.#before = now;
    this.#telling ??= this.#tell().finally(() => {
      this.#telling = null;
    });
  }

  #now(): ReadonlyMap<string, boolean> {
    return new Map(this.#deps.servers.known.map(({ name, lost }) => [name, lost]));
  }

  async #tell(): Promise<void> {
    const { changes, epoch, failed } = this.#deps;
    try {
      for (let [next] = this.#untold; next !== undefined; [next] = this.#untold) {
        const change = { orgId: null, concerns: 'everybody', actor: SERVER, detail: { epoch }, ...next } as const;
        await changes.apply(change, async () => undefined);
        this.#untold.shift();
      }
    } catch (error) {
      failed(error);
    }
  }
}
