import { createRequire } from 'node:module';

const description: unknown = createRequire(import.meta.url)('../package.json');

function version(): string {
  if (typeof description === 'object' && description !== null && 'version' in description) {
    return String(description.version);
  }
  return '0.0.0';
}

/** Of this muster. */
export const VERSION = version();
