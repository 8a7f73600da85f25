import { type DestinationStream, type Logger, pino } from 'pino';

/** Never logged, at whatever depth they come up. Signing headers could be replayed for 15 minutes. */
const SECRETS = [
  ...['authorization', 'token', 'password', 'key', 'private_key', 'privateKey', 'secret', 'session_key'],
  ...['bind_password', 'client_secret', 'clientSecret'],
];

const SIGNATURE_HEADER = /^(authorization|cookie|x-ops-authorization-\d+|x-jwt-assertion-.*)$/i;

/** Headers without what would let a reader of the log act as the caller. */
function redactedHeaders(headers: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, SIGNATURE_HEADER.test(name) ? '[redacted]' : value]),
  );
}

/** What layers log with; pino fits. */
export interface LayerLog {
  debug(details: object, message: string): void;
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

/** JSON lines on standard output, or to `destination`. */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: SECRETS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
        censor: '[redacted]',
      },
      serializers: { err: pino.stdSerializers.err, headers: redactedHeaders },
    },
    ...(destination === undefined ? [] : [destination]),
  );
}
