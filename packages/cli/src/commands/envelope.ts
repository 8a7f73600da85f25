import type { Client, Query } from '../client.js';

/** Jobs, apps and systems are told in Agave's shapes, inside an envelope. */
interface Envelope<T> {
  readonly status: string;
  readonly message: string | null;
  readonly result: T;
}

/** Of one request. */
const PAGE = 100;

export async function read<T>(client: Client, path: string, query?: Query): Promise<T> {
  return (await client.get<Envelope<T>>(path, query)).result;
}

/** A list of any length, page after page, or the first `most` of it. */
export async function readAll<T>(client: Client, path: string, query: Query = {}, most = Infinity): Promise<T[]> {
  const found: T[] = [];
  for (;;) {
    const limit = Math.min(PAGE, most - found.length);
    const page = await read<T[]>(client, path, { ...query, limit, offset: found.length });
    found.push(...page);
    if (page.length < limit || found.length >= most) return found;
  }
}

export async function post<T>(client: Client, path: string, body: unknown): Promise<T> {
  return (await client.post<Envelope<T>>(path, body)).result;
}

/** What is changed by naming an action. */
export async function change<T>(client: Client, path: string, action: string): Promise<T> {
  return (await client.put<Envelope<T>>(path, { action })).result;
}

/** What is said of an action, which has no other answer. */
export async function act(client: Client, path: string, body: unknown = {}): Promise<string | null> {
  return (await client.post<Envelope<unknown>>(path, body)).message;
}
