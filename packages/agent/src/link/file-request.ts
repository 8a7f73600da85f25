import type { IncomingMessage } from 'node:http';
import { request as plain } from 'node:http';
import { request as secure } from 'node:https';
import { signRequest } from '@muster/signing';
import { FileUnavailable } from '../files/download.js';
import { ANSWER_BYTES, FILE_SILENCE_MS } from '../limits.js';
import { type NodeIdentity, organizationUrl } from './configuration-request.js';
import { errorText } from './http.js';

/** What a server says that will say the same the next time. */
const FINAL: ReadonlySet<number> = new Set([400, 401, 403, 404, 410, 416]);

/**
 * Bytes of a file of a push job from `from` on, by a signed request.
 * @throws FileUnavailable when the server refuses it; anything else may pass.
 */
export async function* requestFile(
  identity: NodeIdentity,
  {
    jobId,
    sha256,
    from,
    now,
  }: { readonly jobId: string; readonly sha256: string; readonly from: number; readonly now: number },
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const url = organizationUrl(identity.server, identity.org, `pushy/jobs/${jobId}/files/${sha256}`);
  const signed = signRequest({
    method: 'GET',
    path: url.pathname,
    body: '',
    userId: identity.name,
    timestamp: now,
    privateKey: identity.key,
    version: '1.3',
    signQuery: true,
  });
  const headers = { ...signed, accept: 'application/octet-stream', range: `bytes=${from}-` };
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const options = { headers, signal, ...(identity.ca === null ? {} : { ca: identity.ca }) };
    const call = (url.protocol === 'https:' ? secure : plain)(url, options, resolve);
    call.setTimeout(FILE_SILENCE_MS, () => call.destroy(new Error('the server is silent')));
    call.on('error', reject);
    call.end();
  });
  const { statusCode: status = 0 } = answer;
  if (status !== 206) {
    const body = await beginningOf(answer);
    const why = errorText({ status, body, code: null, date: null });
    if (FINAL.has(status)) throw new FileUnavailable(`the server does not give a file of the job: ${why}`);
    throw new Error(`status ${status}: ${why}`);
  }
  yield* answer;
}

async function beginningOf(answer: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of answer.setEncoding('utf8')) {
    text += piece;
    if (text.length > ANSWER_BYTES) break;
  }
  return text;
}
