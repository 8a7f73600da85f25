import { Agent, request } from 'node:http';
import { type RsaKey, signRequest } from '@muster/signing';
import { Busy } from './adaptive.js';

export interface Credentials {
  readonly name: string;
  /** Who calls often, parses once. */
  readonly privateKey: RsaKey;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Longest wait for one answer. */
const ANSWER_TIMEOUT_MS = 30_000;

/** Kept open between calls: the load is requests, not connections. */
const connections = new Agent({ keepAlive: true });

/** A signed REST call; resolves with whatever the server answers. */
export function signedCall(
  server: string,
  as: Credentials,
  method: 'GET' | 'POST',
  path: string,
  content?: unknown,
): Promise<Answer> {
  const body = content === undefined ? '' : JSON.stringify(content);
  return send(new URL(path, server), method, signedHeaders(as, method, path, body), body);
}

/** The signature's headers, good until the clocks differ too much. */
export function signedHeaders(
  as: Credentials,
  method: 'GET' | 'POST',
  path: string,
  body: string,
): Record<string, string> {
  return signRequest({
    method,
    path,
    body,
    userId: as.name,
    timestamp: Date.now(),
    privateKey: as.privateKey,
    version: '1.3',
    signQuery: true,
  });
}

/** Statuses of a server that has no time now. */
const BUSY: ReadonlySet<number> = new Set([408, 429, 503]);

/** An answer; a server that has no time, or none at all, is one that may have time later. @throws Busy */
export async function answerOf(what: string, asked: Promise<Answer>): Promise<Answer> {
  const answer = await asked.catch((error: unknown) => {
    throw new Busy(`${what}: ${error instanceof Error ? error.message : String(error)}`);
  });
  if (BUSY.has(answer.status)) throw new Busy(`${what}: ${answer.status} ${answer.text}`);
  return answer;
}

/** A request with headers made before. `node:http`, because it costs the generator a third of what `fetch` does. */
export function send(url: URL, method: 'GET' | 'POST', headers: Record<string, string>, body = ''): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = request(url, {
      method,
      agent: connections,
      headers: {
        accept: 'application/json',
        ...(body === '' ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
        ...headers,
      },
    });
    call.setTimeout(ANSWER_TIMEOUT_MS, () => call.destroy(new Error('no answer')));
    call.on('error', reject);
    call.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() });
      });
    });
    call.end(body);
  });
}
