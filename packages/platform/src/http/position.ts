import type { IncomingMessage } from 'node:http';
import { type App, isOpen } from './route.js';

/**
 * Tells with whatever is read the position of the event log before it was read: who follows events from there on misses no change of
 * what they read. What is told twice by that is harmless. Streams have positions of their own.
 */
export function tellPosition(app: App, position: () => number): void {
  const positions = new WeakMap<IncomingMessage, number>();
  // Before anything is waited for, so that the answer is never older than what it says.
  app.addHook('onRequest', async ({ method, routeOptions, raw }) => {
    const { permission } = routeOptions.config;
    if (method === 'GET' && permission !== undefined && !isOpen(permission)) positions.set(raw, position());
  });
  // Who comes so far was let in.
  app.addHook('preHandler', async ({ raw }, reply) => {
    const told = positions.get(raw);
    if (told !== undefined) reply.header('x-muster-position', String(told));
  });
}
