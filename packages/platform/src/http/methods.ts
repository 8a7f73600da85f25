import type { HTTPMethods } from 'fastify';
import { MusterError } from '../errors.js';
import type { App } from './route.js';

/** Parameters with other names are the same path. */
function shape(url: string): string {
  return url.replace(/:[A-Za-z_]+/g, ':');
}

/**
 * Answers 405 with `Allow` for the methods a known path does not have, before any authentication (sheet §7.2).
 * The router alone would say 404. Returns what adds these routes, to be called when all others are there.
 */
export function watchMethods(app: App): () => void {
  const known = new Map<string, { readonly url: string; readonly methods: Set<string> }>();
  app.addHook('onRoute', (route) => {
    const { url } = route;
    const entry = known.get(shape(url)) ?? { url, methods: new Set<string>() };
    for (const method of [route.method].flat()) entry.methods.add(method);
    known.set(shape(url), entry);
  });
  return () => {
    for (const { url, methods } of [...known.values()]) {
      if (url.includes('*')) continue;
      const allow = [...methods].sort().join(', ');
      const missing = app.supportedMethods.filter((method) => !methods.has(method));
      app.route({
        method: missing as HTTPMethods[],
        url,
        schema: { hide: true },
        config: { permission: 'public' },
        onRequest: async (request) => {
          throw new MusterError('method_not_allowed', { method: request.method, allow });
        },
        handler: async () => undefined,
      });
    }
  };
}
