import { ServerPin } from '../../src/link/server-pin.js';

/** Of a node that knows no server yet, and forgets the one that it meets. */
export function unpinned(): Promise<ServerPin> {
  return ServerPin.open('/', { read: async () => null, write: async () => undefined });
}
