import { connectChannel } from '../transport/connect.js';
import { Client } from './client.js';
import type { ClientOptions } from './types.js';

/** Connects, and stays connected until it is closed. @throws MusterError `invalid_field` */
export function connect(options: ClientOptions): Client {
  return new Client(options, connectChannel);
}

export * from './public.js';
