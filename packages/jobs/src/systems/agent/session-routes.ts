import { type IncomingMessage, STATUS_CODES } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { NodeParams } from '@muster/nodes';
import { type Auth, actorOf } from '@muster/platform/auth';
import { type App, admissionOf, serveUpgrades } from '@muster/platform/http';
import { Type } from 'typebox';
import { MusterError } from '../../errors.js';
import '../../rights.js';
import { UPGRADE } from './protocol.js';
import type { AgentSessions } from './sessions.js';
import type { WorkerConnections } from './worker-connections.js';
import { ticketOf, WORKER_PATH } from './worker-routes.js';

export interface SessionRoutesDeps {
  readonly auth: Pick<Auth, 'audit'>;
  readonly sessions: AgentSessions;
}

const SESSION = '[0-9a-f]{32}';
const SessionParams = Type.Object({ ...NodeParams.properties, session: Type.String({ pattern: `^${SESSION}$` }) });
const REASON = 1024;

/** Where agents bring connections to their nodes. The gate decides of the request to upgrade as of any other. */
export function sessionRoutes(app: App, { auth, sessions }: SessionRoutesDeps): void {
  const path = '/organizations/:org/nodes/:node/systems/:session';

  app.get(
    path,
    {
      config: { permission: 'system:session' },
      schema: {
        tags: ['systems'],
        summary: `What a connection of this node is awaited for. With \`Upgrade: ${UPGRADE}\` it becomes that connection`,
        params: SessionParams,
        response: { 200: Type.Object({ system: Type.String(), root: Type.String() }) },
      },
    },
    async (request) => {
      const { organization, params, caller } = request;
      const { node, session } = params;
      const system = sessions.awaited(organization.id, node, session);
      if (system === null) throw new MusterError('not_found', { kind: 'session', name: session });
      sessions.admit(session, admissionOf(request));
      const { name, root } = system;
      auth.audit.record({
        orgId: organization.id,
        actor: actorOf(caller),
        action: 'system.session',
        target: name,
        outcome: 'done',
        detail: { node, root, session },
      });
      return { system: name, root };
    },
  );

  app.post(
    path,
    {
      config: { permission: 'system:session', empowers: false },
      schema: {
        tags: ['systems'],
        summary: 'Say why a node makes no such connection',
        params: SessionParams,
        body: Type.Object(
          { reason: Type.String({ minLength: 1, maxLength: REASON }) },
          { additionalProperties: false },
        ),
        response: { 204: Type.Null() },
      },
    },
    async ({ organization, params, body }, reply) => {
      const { node, session } = params;
      if (sessions.awaited(organization.id, node, session) === null) {
        throw new MusterError('not_found', { kind: 'session', name: session });
      }
      sessions.refuse(session, body.reason);
      return reply.code(204).send(null);
    },
  );
}

const ASKED = new RegExp(`/systems/(${SESSION})$`);

/** Takes connections of agents, and of workers that come for one. To be called once the server is there. */
export function serveSessions(app: App, sessions: AgentSessions, workers: WorkerConnections): void {
  const giverOf = ({ url = '/', headers }: IncomingMessage): Give | null => {
    const session = ASKED.exec(url)?.[1];
    if (session !== undefined) return (socket) => sessions.connect(session, socket);
    const ticket = url === WORKER_PATH ? ticketOf(headers) : null;
    return ticket === null ? null : (socket) => workers.connect(ticket, socket);
  };
  serveUpgrades(app.server, UPGRADE, (request, socket) => {
    socket.on('error', () => socket.destroy());
    take(app, request, { socket, give: giverOf(request) }).catch(() => socket.destroy());
  });
}

/** Gives a connection to who waits for it; false: nobody does any more. */
type Give = (socket: Duplex) => boolean;

async function take(
  app: App,
  request: IncomingMessage,
  { socket, give }: { readonly socket: Duplex; readonly give: Give | null },
): Promise<void> {
  const { url = '/', method } = request;
  const { upgrade: _, connection: __, ...headers } = request.headers;
  const { remoteAddress = '' } = request.socket;
  const answer = await app.inject({ method: method === 'GET' ? 'GET' : 'HEAD', url, headers, remoteAddress });
  if (answer.statusCode !== 200 || give === null || method !== 'GET') return refuse(socket, answer);
  if (socket instanceof Socket) socket.setNoDelay(true).setTimeout(0);
  const answered = `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${UPGRADE}\r\n\r\n`;
  // HTTP/2 of Node.js takes the connection over as it is, and aborts the process when something is still being written.
  await new Promise<void>((resolve, reject) => {
    socket.write(answered, (error) => (error ? reject(error) : resolve()));
  });
  if (!give(socket)) socket.destroy();
}

function refuse(
  socket: Duplex,
  { statusCode, headers, payload }: { statusCode: number; headers: Record<string, unknown>; payload: string },
): void {
  const code = headers['x-muster-error'];
  socket.end(
    [
      `HTTP/1.1 ${statusCode} ${STATUS_CODES[statusCode] ?? 'Refused'}`,
      'Connection: close',
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(payload)}`,
      ...(typeof code === 'string' ? [`X-Muster-Error: ${code}`] : []),
      '',
      payload,
    ].join('\r\n'),
  );
}
