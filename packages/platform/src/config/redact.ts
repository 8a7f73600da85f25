import type { ServerConfig } from './schema.js';

const HIDDEN = '***';
const SECRET_PARAMETER = /pass/i;

/** A database URL that may be logged. */
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
  return config.database_url === undefined ? config : { ...config, database_url: redactUrl(config.database_url) };
}
