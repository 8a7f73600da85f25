/**
 * The client library: for browsers as it stands here, and with the sockets of Node in `node.ts`, which the package
 * shows to Node under the same name. Nothing that is reached from here needs Node.
 */

import { Client } from './client.js';
import { dialInBrowser } from './connection/browser.js';
import type { ClientOptions } from './types.js';

/** Connects, and stays connected until it is closed. @throws MusterError `invalid_field` */
export function connect(options: ClientOptions): Client {
  return new Client(options, dialInBrowser);
}

export * from './public.js';
