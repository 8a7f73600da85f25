import type { Clock } from '@muster/base';
import { NODE_LIMITS } from './limits.js';
import type { NodeLog } from './ports.js';

/** At most one line a second per kind; the next line says how many were left out. */
export class BoundedLog {
  readonly #logger: NodeLog;
  readonly #clock: Clock;
  readonly #kinds = new Map<string, { loggedAt: number; suppressed: number }>();

  constructor(logger: NodeLog, clock: Clock) {
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
    const now = this.#clock.now();
    const known = this.#kinds.get(kind);
    if (known !== undefined && now - known.loggedAt < NODE_LIMITS.logEveryMs) {
      known.suppressed += 1;
      return;
    }
    const suppressed = known?.suppressed ?? 0;
    this.#kinds.set(kind, { loggedAt: now, suppressed: 0 });
    this.#logger[level](suppressed > 0 ? { ...details, suppressed } : details, message);
  }
}
