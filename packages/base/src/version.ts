import { readOwn } from './own-parts.js';

const { version } = JSON.parse(readOwn(new URL('../package.json', import.meta.url)).toString()) as {
  readonly version: string;
};

/** Of this Muster, all of whose packages have the same: of the command line, servers, agents, and what nodes tell of themselves. */
export const VERSION = version;
