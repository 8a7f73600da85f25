import { createPrivateKey, type KeyObject } from 'node:crypto';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { type SigningVersion, signedHeaders } from './chef-signing.js';

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** Parsed body; undefined when it is not JSON. */
  readonly json: unknown;
}

export interface Persona {
  readonly name: string;
  readonly privateKey: string;
}

export interface CallOptions {
  readonly body?: unknown;
  readonly accept?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly version?: SigningVersion;
  /** With version 1.3, as what is not Chef's own does it. */
  readonly signQuery?: boolean;
}

/** For queries that no deployed client knows. */
export const SIGNED_QUERY: CallOptions = { version: '1.3', signQuery: true };

/** Longest a test waits for one answer. */
const ANSWER_TIMEOUT_MS = 60_000;

/** Signed REST calls as one persona. Every call has its own connection, as deployed clients do it. */
export class ApiClient {
  readonly url: string;
  readonly persona: Persona;
  readonly org: string;
  readonly #key: KeyObject;

  constructor(url: string, persona: Persona, org = 'default') {
    this.url = url;
    this.persona = persona;
    this.org = org;
    this.#key = createPrivateKey(persona.privateKey);
  }

  as(persona: Persona): ApiClient {
    return new ApiClient(this.url, persona, this.org);
  }

  /** Path below `/organizations/ORG/`. */
  path(rest: string): string {
    return `/organizations/${this.org}/${rest}`;
  }

  headers(method: string, path: string, body: string, options: CallOptions = {}): Record<string, string> {
    return {
      accept: options.accept ?? 'application/json',
      ...(body === '' ? {} : { 'content-type': 'application/json' }),
      ...signedHeaders({
        method,
        path,
        body,
        userId: this.persona.name,
        privateKey: this.#key,
        ...(options.version === undefined ? {} : { version: options.version }),
        ...(options.signQuery === undefined ? {} : { signQuery: options.signQuery }),
      }),
      ...options.headers,
    };
  }

  call(method: string, path: string, options: CallOptions = {}): Promise<Reply> {
    const body = options.body === undefined ? '' : JSON.stringify(options.body);
    return send(method, new URL(path, this.url), this.headers(method, path, body, options), body);
  }

  get(rest: string, options?: CallOptions): Promise<Reply> {
    return this.call('GET', this.path(rest), options);
  }

  post(rest: string, body: unknown): Promise<Reply> {
    return this.call('POST', this.path(rest), { body });
  }

  put(rest: string, body?: unknown): Promise<Reply> {
    return this.call('PUT', this.path(rest), body === undefined ? {} : { body });
  }

  delete(rest: string): Promise<Reply> {
    return this.call('DELETE', this.path(rest));
  }
}

export function send(
  method: string,
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: string,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(url, { method, headers, agent: false, timeout: ANSWER_TIMEOUT_MS }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('error', reject);
      incoming.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text, json: parsed(text) });
      });
    });
    outgoing.on('timeout', () => outgoing.destroy(new Error(`${method} ${url.pathname}: no answer`)));
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
