import { extname } from 'node:path';
import { INSIDE, readOwnBelow } from '@muster/base/own-parts';

const TYPES = { '.css': 'text/css', '.js': 'application/javascript', '.png': 'image/png', '.svg': 'image/svg+xml' };

/** Takes the place of `@fastify/static` in the single executable, for the page that shows the API: its files are assets. */
export default async function servedFromMemory(scope) {
  for (const [path, body] of readOwnBelow(new URL('swagger-ui/', INSIDE)) ?? []) {
    const type = TYPES[extname(path)];
    if (type === undefined) continue;
    scope.get(`/${path}`, { schema: { hide: true } }, async (_request, reply) => {
      return reply.header('content-type', `${type}; charset=utf-8`).send(body);
    });
  }
}
