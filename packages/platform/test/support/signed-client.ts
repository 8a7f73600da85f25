import { type Clock, systemClock } from '@muster/base';
import { type SigningVersion, signRequest } from '@muster/signing';

/** Who calls: a name and the private key that signs. */
export interface Persona {
  readonly name: string;
  readonly privateKey: string;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body; undefined when it is not JSON. */
  readonly body: unknown;
}

export interface CallOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly version?: Exclude<SigningVersion, '1.2'>;
  /** As our own clients do, with 1.3. */
  readonly signQuery?: boolean;
}

/** Requests to a server under test, signed as one persona, with a token, or not at all. */
export class Client {
  readonly url: string;
  readonly #credentials: Persona | { readonly token: string } | null;
  readonly #clock: Clock;

  constructor(url: string, credentials: Persona | { readonly token: string } | null, clock: Clock = systemClock) {
    this.url = url;
    this.#credentials = credentials;
    this.#clock = clock;
  }

  as(credentials: Persona | { readonly token: string } | null): Client {
    return new Client(this.url, credentials, this.#clock);
  }

  async call(method: string, path: string, options: CallOptions = {}): Promise<Reply> {
    const text = typeof options.body === 'string' ? options.body : JSON.stringify(options.body);
    const response = await fetch(this.url + path, {
      method,
      headers: {
        ...this.headers(method, path, text ?? '', options),
        ...(text === undefined ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
      },
      ...(text === undefined ? {} : { body: text }),
    });
    return reply(response);
  }

  /** What authenticates such a request. */
  headers(method: string, path: string, body = '', options: CallOptions = {}): Record<string, string> {
    const credentials = this.#credentials;
    if (credentials === null) return {};
    if ('token' in credentials) return { authorization: `Bearer ${credentials.token}` };
    // `fetch` encodes more of a query than `encodeURIComponent` does; what is on the wire is what has to be signed.
    const { search } = new URL(this.url + path);
    return signRequest({
      method,
      path: (path.split('?', 1)[0] ?? '') + search,
      body,
      userId: credentials.name,
      timestamp: this.#clock.now(),
      privateKey: credentials.privateKey,
      version: options.version ?? '1.3',
      signQuery: options.signQuery ?? true,
    });
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
    return this.call('GET', path, { headers });
  }

  post(path: string, body?: unknown): Promise<Reply> {
    return this.call('POST', path, { body });
  }

  put(path: string, body?: unknown): Promise<Reply> {
    return this.call('PUT', path, { body });
  }

  delete(path: string): Promise<Reply> {
    return this.call('DELETE', path);
  }
}

export async function reply(response: Response): Promise<Reply> {
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
