import type { Clock } from '@muster/base';
import type { DropCause } from '@muster/wire';
import { DROP_LOG_MS } from '../limits.js';
import type { AgentLog } from '../logging.js';

/** Says why received messages were not accepted, at most once per cause in DROP_LOG_MS. */
export class DropLog {
  readonly #clock: Clock;
  readonly #logger: AgentLog;
  readonly #counts = new Map<DropCause, { suppressed: number; saidAt: number }>();

  constructor(clock: Clock, logger: AgentLog) {
    this.#clock = clock;
    this.#logger = logger;
  }

  count(cause: DropCause): void {
    const now = this.#clock.now();
    const entry = this.#counts.get(cause);
    if (entry !== undefined && now - entry.saidAt < DROP_LOG_MS) {
      entry.suppressed += 1;
      return;
    }
    this.#counts.set(cause, { suppressed: 0, saidAt: now });
    this.#logger.warn({ cause, suppressed: entry?.suppressed ?? 0 }, `dropped a message: ${EXPLAINED[cause]}`);
  }
}

const EXPLAINED: Readonly<Record<DropCause, string>> = {
  frames: 'not two frames',
  header_too_big: 'header too long',
  body_too_big: 'body larger than the server takes',
  bad_header: 'unreadable header',
  parse_fail: 'not the JSON expected',
  unknown_org: 'unknown organization',
  unknown_node: 'unknown node',
  no_session: 'no session',
  bad_sig: 'signature does not verify',
  bad_timestamp: 'time differs too much; check the clocks of server and node',
  replayed: 'seen before',
  unknown_type: 'unknown type',
  rate_limited: 'more than its sender may send',
};
