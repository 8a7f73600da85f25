import { request as plain } from 'node:http';
import { request as secure } from 'node:https';
import { certificateError } from '@muster/base';
import { MusterError } from '../errors.js';
import { ANSWER_BYTES, REQUEST_MS } from '../limits.js';

export interface HttpRequest {
  readonly url: URL;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** PEM of an authority to trust besides the system's. */
  readonly ca: string | null;
}

export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
  /** The server's own code of an error; null when it sent none, or when something before it answered. */
  readonly code: string | null;
  /** The server's clock, from the Date header; null when it sent none. Milliseconds. */
  readonly date: number | null;
}

/** One bounded request. Throws `server_unreachable`, or that its certificate is not trusted or not valid. */
export function http(request: HttpRequest): Promise<HttpAnswer> {
  const { url, method, headers, body, ca } = request;
  const unreachable = (error: unknown): MusterError =>
    new MusterError(
      certificateError(error) ?? 'server_unreachable',
      { url: url.origin, reason: reasonOf(error) },
      { cause: error },
    );
  return new Promise((resolve, reject) => {
    const options = { method, headers, signal: AbortSignal.timeout(REQUEST_MS), ...(ca === null ? {} : { ca }) };
    const call = (url.protocol === 'https:' ? secure : plain)(url, options, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (piece: string) => {
        text += piece;
        if (text.length > ANSWER_BYTES) call.destroy(new Error('the answer is too long'));
      });
      answer.on('error', (error) => reject(unreachable(error)));
      answer.on('end', () => {
        const date = Date.parse(answer.headers.date ?? '');
        const { 'x-muster-error': code } = answer.headers;
        resolve({
          status: answer.statusCode ?? 0,
          body: text,
          code: typeof code === 'string' ? code : null,
          date: Number.isNaN(date) ? null : date,
        });
      });
    });
    call.on('error', (error) => reject(unreachable(error)));
    call.end(body);
  });
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'AbortError' || error.name === 'TimeoutError') return `no answer within ${REQUEST_MS / 1000} s`;
  return 'code' in error && typeof error.code === 'string' ? `${error.code} ${error.message}`.trim() : error.message;
}

/** The text of a refusal: `{"error": ["…"]}` or `{"error": "…"}`. */
export function errorText(answer: HttpAnswer): string {
  try {
    const parsed: unknown = JSON.parse(answer.body);
    if (typeof parsed === 'object' && parsed !== null && 'error' in parsed) {
      const { error } = parsed;
      return Array.isArray(error) ? error.join(', ') : String(error);
    }
  } catch {
    // Not from the server itself, but from something before it.
  }
  return answer.body.slice(0, 200).trim() || `status ${answer.status}`;
}
