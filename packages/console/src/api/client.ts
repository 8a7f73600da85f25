import { ApiError, refusal } from './errors.js';

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Answer<T> {
  readonly body: T;
  /** Position in the log that the answer is not older than; null: the server did not say. */
  readonly position: number | null;
  /** Path of the page after this one. */
  readonly next: string | null;
}

interface Request {
  readonly query?: Query;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

/** Hears that the server does not know the session any more. */
let signedOut: () => void = () => {};
export function onSignedOut(listener: () => void): void {
  signedOut = listener;
}

export function pathOf(path: string, query: Query = {}): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}

/** One request. The session travels as a cookie that scripts cannot read. @throws ApiError */
export async function send<T>(method: string, path: string, { query, body, signal }: Request = {}): Promise<Answer<T>> {
  const response = await ask(method, pathOf(path, query), body, signal);
  if (!response.ok) {
    const error = await refusal(response);
    if (error.status === 401 && !path.startsWith('/session')) signedOut();
    throw error;
  }
  const position = Number(response.headers.get('x-muster-position') ?? Number.NaN);
  const next = /<([^>]+)>;\s*rel="next"/.exec(response.headers.get('link') ?? '')?.[1] ?? null;
  const text = response.status === 204 ? '' : await response.text();
  return {
    body: (text === '' ? null : JSON.parse(text)) as T,
    position: Number.isSafeInteger(position) ? position : null,
    next,
  };
}

/** A stream of bytes, such as the output of a command. @throws ApiError */
export async function open(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  const response = await ask('GET', path, undefined, undefined, { accept: '*/*', ...headers });
  if (!response.ok) throw await refusal(response);
  return response;
}

async function ask(
  method: string,
  path: string,
  body: unknown,
  signal: AbortSignal | undefined,
  wanted: Readonly<Record<string, string>> = { accept: 'application/json' },
): Promise<Response> {
  try {
    return await fetch(path, {
      method,
      headers: { ...wanted, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal !== undefined && { signal }),
      credentials: 'same-origin',
      redirect: 'error',
      cache: 'no-store',
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    const fix = 'Look whether it runs, and whether this machine has a network.';
    throw new ApiError(0, 'unreachable', 'the server does not answer', fix);
  }
}

/** Requests about one organization. */
export class Api {
  readonly org: string;
  /** The server says positions in its answers, so that none is asked for beforehand. */
  #tellsPositions = false;

  constructor(org: string) {
    this.org = org;
  }

  path(path: string): string {
    return `/organizations/${encodeURIComponent(this.org)}${path}`;
  }

  async get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<Answer<T>> {
    const answer = await send<T>('GET', this.path(path), { query, signal });
    if (answer.position !== null) this.#tellsPositions = true;
    return answer;
  }

  /** Of a `next`. */
  async page<T>(path: string, signal?: AbortSignal): Promise<Answer<T>> {
    return send<T>('GET', path, { signal });
  }

  async post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
    return (await send<T>('POST', this.path(path), { body, signal })).body;
  }

  async patch<T>(path: string, body: unknown): Promise<T> {
    return (await send<T>('PATCH', this.path(path), { body })).body;
  }

  async delete<T>(path: string): Promise<T> {
    return (await send<T>('DELETE', this.path(path))).body;
  }

  async put<T>(path: string, query: Query = {}): Promise<T> {
    return (await send<T>('PUT', this.path(path), { query })).body;
  }

  /**
   * What `load` reads, with a position of which it is known that every event up to it is in there: from the answer, or
   * asked for before.
   */
  async at<T>(load: () => Promise<Answer<T>>): Promise<{ readonly value: T; readonly position: number }> {
    const before = this.#tellsPositions ? null : await this.#position();
    const { body, position } = await load();
    const known = position ?? before;
    if (known !== null) return { value: body, position: known };
    // Not every answer says it: what happened since must not be missed.
    const asked = await this.#position();
    return { value: (await load()).body, position: asked };
  }

  async #position(): Promise<number> {
    return (await this.get<{ readonly position: number }>('/events')).body.position;
  }
}
