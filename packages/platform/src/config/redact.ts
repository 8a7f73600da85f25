import type { ServerConfig } from './schema.js';

const HIDDEN = '***';
const SECRET_PARAMETER = /pass/i;

/** A URL of a database, a broker or a mail server that may be logged. */
export function redactUrl(text: string): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return HIDDEN;
  }
  if (url.password !== '') url.password = HIDDEN;
  for (const name of [...url.searchParams.keys()]) {
    if (SECRET_PARAMETER.test(name)) url.searchParams.set(name, HIDDEN);
  }
  return url.href;
}

/** The same settings without their secrets, for logs and `--check-config`. */
export function redactConfig(config: ServerConfig): ServerConfig {
  const { database_url: database, broker_url: broker, outbound } = config;
  return {
    ...config,
    ...(database !== undefined && { database_url: redactUrl(database) }),
    ...(broker !== undefined && { broker_url: redactUrl(broker) }),
    ...(outbound.smtp_url !== undefined && { outbound: { ...outbound, smtp_url: redactUrl(outbound.smtp_url) } }),
  };
}
