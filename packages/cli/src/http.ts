import { request as plain } from 'node:http';
import { request as secure } from 'node:https';
import type { Readable } from 'node:stream';

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

export interface Answer {
  readonly status: number;
  /** By its name in small letters. */
  header(name: string): string | null;
  /** To be read to its end, or destroyed. */
  readonly body: Readable;
}

/**
 * One request. Not by `fetch`, which takes no authority to trust, and which Node.js takes longer to load than most commands take to be
 * answered. Redirects are refused: a signature covers one server and path.
 */
export function httpRequest(url: URL, { method, headers, body, ca, signal }: HttpRequest): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { method, headers, signal, ...(ca !== undefined && { ca }) };
    const asked = (url.protocol === 'https:' ? secure : plain)(url, options, (answer) => {
      const { statusCode: status = 0, headers: told } = answer;
      if (status >= 300 && status < 400 && told.location !== undefined) {
        answer.destroy();
        reject(new Error(`it redirects to ${told.location}`));
        return;
      }
      const header = (name: string) => told[name]?.toString() ?? null;
      resolve({ status, header, body: answer });
    });
    asked.on('error', reject);
    asked.end(body);
  });
}
