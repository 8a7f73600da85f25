import type { Clock } from '@muster/base';
import type { LayerLog } from './logging.js';

/** Milliseconds between two lines of one kind. */
const EVERY_MS = 1000;

/** At most one line a second per kind; the next line says how many were left out. */
export class BoundedLog {
  readonly #logger: LayerLog;
  readonly #clock: Clock;
  readonly #kinds = new Map<string, { loggedAt: number; suppressed: number }>();

  constructor(logger: LayerLog, clock: Clock) {
    this.#logger = logger;
    this.#clock = clock;
  }

  info(kind: string, details: object, message: string): void {
    this.#write('info', kind, details, message);
  }

  warn(kind: string, details: object, message: string): void {
    this.#write('warn', kind, details, message);
  }

  /** `kind` must come from a fixed set. */
  #write(level: 'info' | 'warn', kind: string, details: object, message: string): void {
    const now = this.#clock.monotonic();
    const known = this.#kinds.get(kind);
    if (known !== undefined && now - known.loggedAt < EVERY_MS) {
      known.suppressed += 1;
      return;
    }
    const suppressed = known?.suppressed ?? 0;
    this.#kinds.set(kind, { loggedAt: now, suppressed: 0 });
    this.#logger[level](suppressed > 0 ? { ...details, suppressed } : details, message);
  }
}
