import type { IncomingHttpHeaders } from 'node:http';
import type { App } from '@muster/platform/http';
import { Type } from 'typebox';
import { MusterError } from '../../errors.js';
import { UPGRADE } from './protocol.js';
import type { WorkerConnections } from './worker-connections.js';

/** Where workers in other processes come for connections to nodes. */
export const WORKER_PATH = '/job-workers/connection';

const BEARER = /^Bearer ([0-9a-f]{64})$/;

/** The ticket is all that a worker has to show: it came to it in an answer that only its own broker's users can read. */
export function workerConnectionRoutes(app: App, connections: Pick<WorkerConnections, 'awaited'>): void {
  app.get(
    WORKER_PATH,
    {
      config: { permission: 'public' },
      schema: {
        tags: ['systems'],
        summary: `What a ticket of \`muster worker\` is for. With \`Upgrade: ${UPGRADE}\` it becomes that connection to a node`,
        response: { 200: Type.Object({ system: Type.String() }) },
      },
    },
    async ({ headers }) => {
      const ticket = ticketOf(headers);
      const system = ticket === null ? null : connections.awaited(ticket);
      if (system === null) throw new MusterError('invalid_token');
      return { system };
    },
  );
}

/** null: it brings none. */
export function ticketOf({ authorization }: IncomingHttpHeaders): string | null {
  return BEARER.exec(authorization ?? '')?.[1] ?? null;
}
