import { readFileSync } from 'node:fs';

const description: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

function version(): string {
  if (typeof description === 'object' && description !== null && 'version' in description) {
    return String(description.version);
  }
  return '0.0.0';
}

/** Of this muster. */
export const VERSION = version();
