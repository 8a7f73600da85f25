import { readOwn } from '@muster/base/own-parts';

const description: unknown = JSON.parse(readOwn(new URL('../package.json', import.meta.url)).toString());

function version(): string {
  if (typeof description === 'object' && description !== null && 'version' in description) {
    return String(description.version);
  }
  return '0.0.0';
}

/** Of this muster. */
export const VERSION = version();
