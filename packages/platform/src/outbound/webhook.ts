import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { checkHost, publicLookup } from './addresses.js';
import { OUTBOUND_LIMITS } from './limits.js';

/** What came of one attempt. */
export interface Sent {
  readonly delivered: boolean;
  /** Of HTTP; null: there was no answer, or it is no HTTP. */
  readonly code: number | null;
  /** Why not, or what was answered; bounded. */
  readonly detail: string;
  /** Trying again would not help. */
  readonly final?: true;
  /** It is in the log alone, as the server has no mail server. */
  readonly logged?: true;
}

export interface WebhookOptions {
  /** Whether targets may be at private addresses. */
  readonly privateTargets: boolean;
  readonly timeoutMs?: number;
}

/** Posts it. Redirects are not followed: they could lead anywhere. Never throws for what the target does. */
export async function postWebhook(
  address: string,
  body: string,
  headers: Readonly<Record<string, string>>,
  { privateTargets, timeoutMs = OUTBOUND_LIMITS.timeoutMs }: WebhookOptions,
): Promise<Sent> {
  try {
    const url = new URL(address);
    if (!privateTargets) checkHost(url);
    const { code, text } = await post(url, body, headers, privateTargets, AbortSignal.timeout(timeoutMs));
    return { delivered: code >= 200 && code < 300, code, detail: bounded(text) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const name = error instanceof Error ? error.name : '';
    if (name === 'TimeoutError') {
      return { delivered: false, code: null, detail: `no answer within ${timeoutMs / 1000} seconds` };
    }
    const detail = bounded(reason);
    return { delivered: false, code: null, detail, ...(name === 'PrivateAddress' && { final: true as const }) };
  }
}

function post(
  url: URL,
  body: string,
  headers: Readonly<Record<string, string>>,
  privateTargets: boolean,
  signal: AbortSignal,
): Promise<{ readonly code: number; readonly text: string }> {
  const request = url.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      method: 'POST',
      agent: false,
      signal,
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'user-agent': 'muster',
        ...headers,
      },
      ...(privateTargets ? {} : { lookup: publicLookup() }),
    });
    // An abort has its reason: what comes of it is told as that.
    const failed = (error: Error): void => reject(signal.aborted ? signal.reason : error);
    sent.on('error', failed);
    sent.on('response', (response) => {
      const pieces: Buffer[] = [];
      let length = 0;
      const answered = (): void =>
        resolve({ code: response.statusCode ?? 0, text: Buffer.concat(pieces).toString('utf8') });
      response.on('data', (piece: Buffer) => {
        pieces.push(piece.subarray(0, OUTBOUND_LIMITS.answerBytes - length));
        length += piece.length;
        if (length < OUTBOUND_LIMITS.answerBytes) return;
        answered();
        response.destroy();
      });
      response.on('end', answered);
      response.on('error', failed);
    });
    sent.end(body);
  });
}

function bounded(text: string): string {
  return text.slice(0, OUTBOUND_LIMITS.detailLength);
}
