import './known-errors.js';
import type { Readable } from 'node:stream';
import { certificateError, DeclaredError, type ErrorCode, isErrorCode } from '@muster/base';
import { signRequest } from '@muster/signing';
import { answerText } from './body.js';
import { withIsoTimes } from './chef-times.js';
import { MusterError } from './errors.js';
import { type Answer, httpRequest } from './http.js';
import { GET_RETRIES, REQUEST_TIMEOUT_MS, RETRY_AFTER_MOST_MS, RETRY_PAUSE_MS } from './limits.js';
import type { Credentials, Settings } from './settings.js';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface RequestOptions {
  readonly query?: Query;
  readonly body?: unknown;
  /** In the place of `body`: text, or bytes, of another type than JSON. */
  readonly text?: { readonly type: string; readonly content: string | Uint8Array };
  readonly accept?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Wait without limit for the answer to end: event feeds and followed output. */
  readonly endless?: boolean;
}

interface Refusal {
  readonly told: string | null;
  readonly text: string;
  readonly fix: string;
  readonly answer?: unknown;
}

/** What the server refused, in the server's own words. */
export class RefusedError extends DeclaredError {
  /** The server's own code, which may be of a newer one than this program; null: something before it answered. */
  readonly told: string | null;
  /** The whole answer, where it is JSON: some refusals say what was done before. */
  readonly answer: unknown;
  readonly #fix: string;

  constructor(code: ErrorCode, { told, text, fix, answer }: Refusal) {
    super(code);
    this.message = text;
    this.told = told;
    this.answer = answer;
    this.#fix = fix;
  }

  override get fix(): string {
    return this.#fix;
  }
}

/** What the client needs of the settings. */
export type Connection = Pick<Settings, 'url' | 'ca' | 'org' | 'credentials'>;

export interface ClientSurroundings {
  readonly now: () => number;
  readonly pause: (ms: number) => Promise<void>;
  /** The server takes no more requests for so long, and is waited for. */
  readonly waiting: (ms: number) => void;
}

const surroundings: ClientSurroundings = {
  now: () => Date.now(),
  pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  waiting: () => undefined,
};

/**
 * The HTTP client of the API. Signs every request (Chef API signing 1.3) or bears a token. Only GET is repeated,
 * because only GET may be; but what was refused with 429 did nothing, and is sent again when the server says so soon.
 */
export class Client {
  readonly settings: Connection;
  readonly #around: ClientSurroundings;

  constructor(settings: Connection, around: Partial<ClientSurroundings> = {}) {
    this.settings = settings;
    this.#around = { ...surroundings, ...around };
  }

  /** `/organizations/ORG` and the given rest, each part percent-encoded. */
  inOrg(...parts: readonly string[]): string {
    return pathOf('organizations', this.settings.org, ...parts);
  }

  async get<T>(path: string, query?: Query): Promise<T> {
    return (await this.json('GET', path, query === undefined ? {} : { query })) as T;
  }

  async post<T>(path: string, body: unknown): Promise<T> {
    return (await this.json('POST', path, { body })) as T;
  }

  async patch<T>(path: string, body: unknown): Promise<T> {
    return (await this.json('PATCH', path, { body })) as T;
  }

  async put<T>(path: string, body?: unknown, query?: Query): Promise<T> {
    return (await this.json('PUT', path, {
      ...(body !== undefined && { body }),
      ...(query !== undefined && { query }),
    })) as T;
  }

  async delete<T>(path: string, query?: Query): Promise<T> {
    return (await this.json('DELETE', path, query === undefined ? {} : { query })) as T;
  }

  async json(method: Method, path: string, options: RequestOptions = {}): Promise<unknown> {
    const { body } = await this.send(method, path, { accept: 'application/json', ...options });
    const text = await textOf(body, this.settings.url);
    if (text === '') return null;
    try {
      return withIsoTimes(JSON.parse(text));
    } catch {
      throw new MusterError('server_unreachable', { url: this.settings.url, reason: 'the answer is not JSON' });
    }
  }

  /** Sends and checks the status; the body is the caller's to read. Throws RefusedError or server_unreachable. */
  async send(method: Method, path: string, options: RequestOptions = {}): Promise<Answer> {
    let waited = false;
    for (let attempt = 0; ; attempt++) {
      const aborted = options.signal?.aborted === true;
      const last = method !== 'GET' || attempt >= GET_RETRIES || aborted;
      try {
        const answer = await this.#attempt(method, path, options);
        const { status } = answer;
        if (status >= 200 && status < 300) return answer;
        const again = retryAfterMs(answer);
        if (status === 429 && !waited && !aborted && again !== null && again <= RETRY_AFTER_MOST_MS) {
          waited = true;
          answer.body.destroy();
          this.#around.waiting(again);
          await this.#around.pause(again);
          continue;
        }
        if (status !== 503 || last) throw await refusal(answer, path);
        answer.body.destroy();
      } catch (error) {
        if (last || !mayPass(error)) throw error;
      }
      await this.#around.pause(RETRY_PAUSE_MS * 2 ** attempt);
    }
  }

  async #attempt(method: Method, path: string, options: RequestOptions): Promise<Answer> {
    const { url, ca, credentials } = this.settings;
    const { type = 'application/json', content } = options.text ?? {};
    const body = content ?? (options.body === undefined ? '' : JSON.stringify(options.body));
    const target = new URL(url + path);
    for (const [name, value] of Object.entries(options.query ?? {})) {
      if (value !== undefined) target.searchParams.set(name, String(value));
    }
    const limits: AbortSignal[] = options.signal === undefined ? [] : [options.signal];
    if (options.endless !== true) limits.push(AbortSignal.timeout(REQUEST_TIMEOUT_MS));
    try {
      return await httpRequest(target, {
        method,
        headers: {
          accept: options.accept ?? '*/*',
          ...(body === '' ? {} : { 'content-type': type }),
          ...options.headers,
          ...proof(credentials, method, target.pathname + target.search, body, this.#around.now),
        },
        body,
        ca,
        signal: AbortSignal.any(limits),
      });
    } catch (error) {
      if (options.signal?.aborted === true) throw error;
      throw new MusterError(
        certificateError(error) ?? 'server_unreachable',
        { url, reason: networkReason(error) },
        { cause: error },
      );
    }
  }
}

/** Null: the answer does not say it in seconds. */
function retryAfterMs({ header }: Answer): number | null {
  const text = header('retry-after') ?? '';
  return /^\d{1,9}$/.test(text) ? Number(text) * 1000 : null;
}

/** A broken connection may be whole the next time; what was refused, or a certificate that is not trusted, remains so. */
function mayPass(error: unknown): boolean {
  return !(error instanceof MusterError) || error.code === 'server_unreachable';
}

/**
 * A path of percent-encoded parts. URLs drop empty parts, `.` and `..`, so that the request would be about something else.
 * @throws MusterError `usage`
 */
export function pathOf(...parts: readonly string[]): string {
  const wrong = parts.find((part) => /^\.{0,2}$/.test(part));
  if (wrong !== undefined) throw new MusterError('usage', { reason: `'${wrong}' is not a name` });
  return parts.map((part) => `/${encodeURIComponent(part)}`).join('');
}

function proof(credentials: Credentials, method: string, path: string, body: string | Uint8Array, now: () => number) {
  switch (credentials.kind) {
    case 'none':
      return {};
    case 'token':
      return { authorization: `Bearer ${credentials.token}` };
    case 'key':
      return signRequest({
        method,
        path,
        body,
        userId: credentials.user,
        timestamp: now(),
        privateKey: credentials.privateKey,
        version: '1.3',
        signQuery: true,
      });
  }
}

async function textOf(body: Readable, url: string): Promise<string> {
  try {
    return await answerText(body);
  } catch (error) {
    throw new MusterError('server_unreachable', { url, reason: networkReason(error) }, { cause: error });
  }
}

/** Codes for answers without `X-Muster-Error`, such as a proxy's. */
const BY_STATUS: Readonly<Record<number, ErrorCode>> = {
  401: 'unknown_principal',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  406: 'not_acceptable',
  409: 'already_exists',
  413: 'body_too_large',
  429: 'too_busy',
  503: 'too_busy',
};

async function refusal({ status, header: told, body }: Answer, path: string): Promise<RefusedError> {
  const header = told('x-muster-error');
  const known = isErrorCode(header) ? header : undefined;
  const code = known ?? BY_STATUS[status] ?? (status < 500 ? 'usage' : 'internal');
  const answer = jsonOf(await answerText(body).catch(() => ''));
  const text = errorText(answer) ?? `the server answered ${status} for ${path}`;
  const fix = told('x-muster-fix') ?? (known === undefined ? 'Is MUSTER_URL a Muster server?' : '');
  return new RefusedError(code, { told: header, text, fix, answer });
}

/** `{"error": "text"}` or `{"error": ["text"]}` (sheet §7.2); of jobs `{"status": "error", "message": "text"}`. */
function errorText(answer: unknown): string | undefined {
  if (typeof answer !== 'object' || answer === null) return undefined;
  if ('message' in answer && typeof answer.message === 'string') return answer.message;
  if (!('error' in answer)) return undefined;
  return Array.isArray(answer.error) ? answer.error.join('; ') : String(answer.error);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function networkReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError' || error.name === 'AbortError')
    return `no answer within ${REQUEST_TIMEOUT_MS / 1000} seconds`;
  if (error.message !== '') return error.message;
  // A name with several addresses that all fail has an error for each, and no message.
  return 'code' in error ? String(error.code) : error.name;
}
