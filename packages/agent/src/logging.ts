import { type Logger, pino } from 'pino';

/** Lines of JSON on standard output, for journald or a file. Nothing secret is ever handed to it. */
export function createAgentLogger(level: string): Logger {
  return pino({
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  });
}
