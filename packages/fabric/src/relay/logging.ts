import { type Logger, pino } from 'pino';

/** What the relay logs with; pino fits. */
export type RelayLog = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>;

/** Lines of JSON on standard output, for journald or a file. Nothing secret is ever handed to it. */
export function createRelayLogger(level: string): Logger {
  return pino({
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  });
}
