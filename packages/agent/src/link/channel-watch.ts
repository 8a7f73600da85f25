import { SILENT_INTERVALS } from '../limits.js';

/**
 * Watches the command channel for its whole life (sheet §5.5: watching only its first seconds leaves a connection that
 * dies later dead until the lifetime ends). A working channel is connected and, on each new connection, answered:
 * the server says `welcome`, or aborts a node in rehab. Pure; one `tick` per heartbeat interval.
 */
export interface ChannelWatch {
  readonly connected: boolean;
  /** Something was received over this connection. */
  readonly answered: boolean;
  /** Consecutive intervals in which it was not both. */
  readonly silent: number;
  /** Times the configuration was asked for in vain; each doubles the patience. */
  readonly attempts: number;
}

export const freshWatch: ChannelWatch = { connected: false, answered: false, silent: 0, attempts: 0 };

export type ChannelEvent = 'connected' | 'disconnected' | 'received' | 'reopened' | 'tick';

/** Longest patience is SILENT_INTERVALS * 2 ** MOST_DOUBLINGS intervals. */
const MOST_DOUBLINGS = 5;

export function watch(
  now: ChannelWatch,
  event: ChannelEvent,
): { readonly watch: ChannelWatch; readonly reconfigure: boolean } {
  const keep = (next: ChannelWatch) => ({ watch: next, reconfigure: false });
  switch (event) {
    case 'connected':
      return keep({ ...now, connected: true, answered: false });
    case 'disconnected':
      return keep({ ...now, connected: false });
    case 'received':
      return keep({ connected: true, answered: true, silent: 0, attempts: 0 });
    case 'reopened':
      return keep({ ...freshWatch, attempts: now.attempts });
    case 'tick': {
      if (now.connected && now.answered) return keep({ ...now, silent: 0 });
      const silent = now.silent + 1;
      if (silent < SILENT_INTERVALS * 2 ** now.attempts) return keep({ ...now, silent });
      return {
        watch: { ...now, silent: 0, attempts: Math.min(now.attempts + 1, MOST_DOUBLINGS) },
        reconfigure: true,
      };
    }
  }
}
