import type { Clock } from '@muster/base';
import type { Store } from '@muster/store';
import type { RandomBytes } from '../auth/changes.js';
import type { ServerConfig } from '../config/schema.js';
import type { LayerStatus } from '../http/status.js';
import type { Recorder } from '../log/recorder.js';
import type { Metrics } from '../metrics/metrics.js';
import type { LayerLog } from '../upkeep/logging.js';

/** What every layer of a process is made with. */
export interface Base {
  readonly store: Store;
  readonly recorder: Recorder;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly logger: LayerLog;
  readonly metrics: Metrics;
  readonly config: ServerConfig;
  /** Of this process; new at every start. */
  readonly incarnation: string;
  /** By which others know it. */
  readonly serverName: string;
}

/**
 * A layer that was made. All are loaded before any is started, the lower ones first; they are stopped in the opposite order, also
 * those that did not come so far as to start.
 */
export interface Layer {
  /** Takes up what is stored. Nothing acts yet. */
  load?(): Promise<void>;
  /** From now on it acts by itself. What it answers is waited for. */
  start?(): unknown;
  /** Takes nothing more, finishes what it has, and lets go. */
  stop?(): Promise<void>;
  status?(): Partial<LayerStatus>;
}

/** The layers of a process, lower ones first, and whatever else is to be let go of when it ends. */
export class Layers {
  readonly #layers: Layer[];
  #stopping: Promise<void> | null = null;

  constructor(layers: readonly Layer[] = []) {
    this.#layers = [...layers];
  }

  /** Above those that are there: stopped before them, also when it was made and nothing more. */
  add(...layers: readonly Layer[]): void {
    this.#layers.push(...layers);
  }

  async load(): Promise<void> {
    for (const layer of this.#layers) await layer.load?.();
  }

  async start(): Promise<void> {
    for (const layer of this.#layers) await layer.start?.();
  }

  /** Once, however often it is asked for. @throws AggregateError of what failed, after everything was tried. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    const failures: unknown[] = [];
    for (const layer of [...this.#layers].reverse()) {
      try {
        await layer.stop?.();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'not all layers stopped cleanly');
  }

  status(): LayerStatus {
    const none: LayerStatus = { nodes: 0, jobs: [], eventClients: 0 };
    return Object.assign(none, ...this.#layers.map((layer) => layer.status?.()));
  }
}
