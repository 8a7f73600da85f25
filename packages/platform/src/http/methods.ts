import type { FastifyRequest } from 'fastify';
import router from 'find-my-way';
import { HTTP_LIMITS } from './limits.js';
import type { App } from './route.js';

/** How paths are compared; the same for those that are there and for methods that they do not have. */
export const ROUTER_OPTIONS = {
  ignoreTrailingSlash: true,
  ignoreDuplicateSlashes: true,
  maxParamLength: HTTP_LIMITS.paramLength,
};

/** A path that there is, and the methods it has, as `Allow` names them. */
export interface KnownPath {
  readonly url: string;
  readonly allow: string;
}

/** Parameters with other names are the same path. */
function shape(url: string): string {
  return url.replace(/:[A-Za-z_]+/g, ':');
}

/**
 * Tells of a request to nowhere whether its path is there, with other methods (405 with `Allow`, sheet §7.2): the router of the app
 * alone says 404. Made when it is first asked for: a route of the app for each method that a path does not have would make four of each.
 */
export function watchMethods(app: App): (request: FastifyRequest) => KnownPath | undefined {
  const known = new Map<string, { readonly url: string; readonly methods: Set<string> }>();
  app.addHook('onRoute', (route) => {
    const { url } = route;
    const entry = known.get(shape(url)) ?? { url, methods: new Set<string>() };
    for (const method of [route.method].flat()) entry.methods.add(method);
    known.set(shape(url), entry);
  });
  const make = () => {
    const paths = router(ROUTER_OPTIONS);
    for (const { url, methods } of known.values()) {
      if (url.includes('*')) continue;
      const path: KnownPath = { url, allow: [...methods].sort().join(', ') };
      paths.on('GET', url, () => undefined, path);
    }
    return paths;
  };
  let made: ReturnType<typeof make> | undefined;
  return ({ raw, is404 }) => {
    if (!is404) return undefined;
    made ??= make();
    return made.find('GET', raw.url ?? '/')?.store as KnownPath | undefined;
  };
}
