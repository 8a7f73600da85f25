import type { IncomingMessage } from 'node:http';
import { request as plain } from 'node:http';
import { request as secure } from 'node:https';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { signRequest } from '@muster/signing';
import { ANSWER_BYTES, REQUEST_MS } from '../limits.js';
import type { SessionCalls } from '../systems/helpers.js';
import { type NodeIdentity, organizationUrl } from './configuration-request.js';
import { errorText, http } from './http.js';

const UPGRADE = 'muster-system';

/** The address of a connection for an execution system. @param now Milliseconds since the epoch. */
export function sessionCalls(identity: NodeIdentity, now: () => number): SessionCalls {
  const { server, org, name, ca } = identity;
  const addressed = (method: 'GET' | 'POST', session: string, body: string) => {
    const url = organizationUrl(server, org, `nodes/${encodeURIComponent(name)}/systems/${session}`);
    const headers = signRequest({
      method,
      path: url.pathname,
      body,
      userId: name,
      timestamp: now(),
      privateKey: identity.key,
      version: '1.3',
      signQuery: true,
    });
    return { url, headers: { ...headers, accept: 'application/json' } };
  };
  return {
    async connect(session, signal) {
      const { url, headers } = addressed('GET', session, '');
      return upgraded(url, { ...headers, connection: 'Upgrade', upgrade: UPGRADE }, ca, signal);
    },
    async refuse(session, reason) {
      const body = JSON.stringify({ reason });
      const { url, headers } = addressed('POST', session, body);
      const answer = await http({
        url,
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body,
        ca,
      });
      if (answer.status !== 204) throw new Error(errorText(answer));
    },
  };
}

function upgraded(
  url: URL,
  headers: Readonly<Record<string, string>>,
  ca: string | null,
  signal: AbortSignal,
): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const options = { headers, signal, agent: false, ...(ca === null ? {} : { ca }) };
    const call = (url.protocol === 'https:' ? secure : plain)(url, options);
    const silent = setTimeout(() => call.destroy(new Error('the server does not answer')), REQUEST_MS);
    call.once('close', () => clearTimeout(silent));
    call.once('upgrade', (_, socket, head) => {
      clearTimeout(silent);
      if (head.length > 0) socket.unshift(head);
      if (socket instanceof Socket) socket.setNoDelay(true);
      resolve(socket);
    });
    call.once('response', (answer) => {
      text(answer).then(
        (body) => {
          const status = answer.statusCode ?? 0;
          reject(new Error(`status ${status}: ${errorText({ status, body, code: null, date: null })}`));
          call.destroy();
        },
        (error: unknown) => reject(error),
      );
    });
    call.once('error', reject);
    call.end();
  });
}

async function text(answer: IncomingMessage): Promise<string> {
  let said = '';
  for await (const piece of answer.setEncoding('utf8')) {
    said += piece;
    if (said.length > ANSWER_BYTES) break;
  }
  return said;
}
