import { Type } from 'typebox';
import { MusterError } from '../../errors.js';
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

/** What does not ask to become a WebSocket comes here; the others never do. */
export function webSocketRoute(app: App, path: string): void {
  app.get(
    path,
    {
      config: { permission: 'public', accept: '*/*' },
      schema: {
        tags: ['events'],
        operationId: 'getEventsWebSocket',
        summary: 'STOMP over a WebSocket',
        response: {
          101: Type.Null({ description: 'It is a WebSocket from now on' }),
          426: Type.Object({ error: Type.String() }, { description: 'The request does not ask for a WebSocket' }),
        },
      },
    },
    async (_request, reply) => {
      reply.header('upgrade', 'websocket').header('connection', 'upgrade');
      throw new MusterError('upgrade_required', { path });
    },
  );
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
