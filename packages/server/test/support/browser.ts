import { type IncomingHttpHeaders, request } from 'node:http';
import type { Reply } from '../../../platform/test/support/signed-client.js';

export interface Page {
  /** As a browser says it of a request; null: it is an old one. */
  readonly site?: 'same-origin' | 'same-site' | 'cross-site' | null;
  readonly origin?: string;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A browser with the cookies of one server. Its pages are those of that server unless a request says otherwise. */
export class Browser {
  readonly url: string;
  readonly cookies = new Map<string, string>();

  constructor(url: string) {
    this.url = url;
  }

  call(method: string, path: string, body?: unknown, page: Page = {}): Promise<Reply> {
    const { site = 'same-origin', origin, type = 'application/json' } = page;
    const text = body === undefined ? undefined : JSON.stringify(body);
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    return this.#send(method, path, text, {
      ...(cookie !== '' && { cookie }),
      ...(site !== null && { 'sec-fetch-site': site }),
      ...(origin !== undefined && { origin }),
      ...(text !== undefined && type !== '' && { 'content-type': type }),
      ...page.headers,
    });
  }

  /** `fetch` lets nobody say where a request comes from. */
  #send(method: string, path: string, body: string | undefined, headers: Record<string, string>): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
      const asked = request(`${this.url}${path}`, { method, headers: { ...headers, ...length }, agent: false });
      asked.on('error', reject);
      asked.on('response', async (answer) => {
        for (const cookie of answer.headers['set-cookie'] ?? []) this.#keep(cookie);
        let text = '';
        for await (const piece of answer.setEncoding('utf8')) text += piece;
        const told = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as [string, string]);
        const json = /json/.test(answer.headers['content-type'] ?? '') && text !== '';
        const parsed: unknown = json ? JSON.parse(text) : undefined;
        resolve({ status: answer.statusCode ?? 0, headers: new Headers(told), text, body: parsed });
      });
      asked.end(body);
    });
  }

  #keep(cookie: string): void {
    const [pair = '', ...attributes] = cookie.split('; ');
    const at = pair.indexOf('=');
    if (attributes.includes('Max-Age=0')) this.cookies.delete(pair.slice(0, at));
    else this.cookies.set(pair.slice(0, at), pair.slice(at + 1));
  }
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** As it came: `fetch` would decompress it. */
  readonly body: Buffer;
}

/** Whatever the path has in it. */
export function raw(
  url: string,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const asked = request({ hostname, port, method, path, headers, agent: false });
    asked.on('error', reject);
    asked.on('response', async (answer) => {
      const pieces: Buffer[] = [];
      for await (const piece of answer) pieces.push(piece);
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(pieces) });
    });
    asked.end();
  });
}
