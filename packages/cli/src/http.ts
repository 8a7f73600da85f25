import { request as plain } from 'node:http';
import { request as secure } from 'node:https';
import { Readable } from 'node:stream';

export interface HttpRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Empty: none. */
  readonly body: string | Uint8Array;
  /** PEM of whom to trust instead of the well-known authorities. */
  readonly ca: string | undefined;
  /** Ends the request, and its answer. */
  readonly signal: AbortSignal;
}

/** Statuses whose answers have no body. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * One request, as `fetch` does it; the `fetch` of Node.js takes no authority to trust. Redirects are refused: a signature
 * covers one server and path.
 */
export function httpRequest(url: URL, { method, headers, body, ca, signal }: HttpRequest): Promise<Response> {
  return new Promise((resolve, reject) => {
    const options = { method, headers, signal, ...(ca !== undefined && { ca }) };
    const asked = (url.protocol === 'https:' ? secure : plain)(url, options, (answer) => {
      const { statusCode: status = 0, headers } = answer;
      if (status >= 300 && status < 400 && headers.location !== undefined) {
        answer.destroy();
        reject(new Error(`it redirects to ${headers.location}`));
        return;
      }
      const told = new Headers();
      for (const [name, value] of Object.entries(headers)) told.set(name, String(value));
      if (WITHOUT_BODY.has(status)) answer.resume();
      const stream = WITHOUT_BODY.has(status) ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>);
      resolve(new Response(stream, { status, headers: told }));
    });
    asked.on('error', reject);
    asked.end(body);
  });
}
