import { baseUrl } from '../../http/base-url.js';
import type { App } from '../../http/route.js';
import * as schemas from './schemas.js';

/** What clients of the fabric are told. */
export interface Whereabouts {
  readonly stomp: string;
  readonly websocket: string;
  readonly destination: string;
  readonly position: number;
  readonly max_size: number;
}

/** Where to connect. `base` is the server as the caller has reached it: `http://HOST:PORT`. */
export function whereRoutes(app: App, whereabouts: (base: string) => Whereabouts): void {
  app.get(
    '/organizations/:org/events',
    {
      config: { permission: 'member' },
      schema: {
        tags: ['events'],
        operationId: 'getEvents',
        summary: 'Where event clients connect, and how far the log is',
        params: schemas.OrgParams,
        response: { 200: schemas.WhereAnswer },
      },
    },
    async (request) => whereabouts(baseUrl(request)),
  );
}
