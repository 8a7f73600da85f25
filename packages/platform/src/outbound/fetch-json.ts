import { type IncomingMessage, request as requestPlain } from 'node:http';
import { request } from 'node:https';
import { parseJson, readBody } from '../http/body.js';
import { checkHost, publicLookup } from './addresses.js';

/** A document, and no more than that: bounded in time and length, and no other address is followed. */
export interface FetchLimits {
  readonly bytes: number;
  readonly timeoutMs: number;
}

/**
 * @param form Sent with POST; without it it is a GET.
 * @throws Error that says why there is none.
 */
export type FetchJson = (url: URL, form?: URLSearchParams) => Promise<unknown>;

const OAUTH_ERROR = /^[\w-]{1,64}$/;

/** @param privateTargets Also from private addresses, and without TLS. */
export function fetchJson(limits: FetchLimits, privateTargets: boolean): FetchJson {
  return async (url, form) => {
    const plain = url.protocol === 'http:' && privateTargets;
    if (!plain && url.protocol !== 'https:') throw new Error('it must be an https URL');
    if (!privateTargets) checkHost(url);
    const signal = AbortSignal.timeout(limits.timeoutMs);
    const options = {
      ...(form !== undefined && { method: 'POST' }),
      headers: {
        accept: 'application/json',
        ...(form !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      signal,
      agent: false,
      ...(!privateTargets && { lookup: publicLookup() }),
    } as const;
    const response = await new Promise<IncomingMessage>((done, failed) => {
      (plain ? requestPlain : request)(url, options, done).on('error', failed).end(form?.toString());
    });
    try {
      const { statusCode: status } = response;
      if (status !== 200 && form === undefined) throw new Error(`it answers with status ${status}`);
      const body = await readBody(response, limits.bytes);
      if (status !== 200) throw new Error(`it answers with status ${status}${errorIn(body)}`);
      return form === undefined ? parseJson(body) : parseUnsaid(body);
    } finally {
      response.destroy();
    }
  };
}

/** Without telling anything of it: an error of parsing says what it met. */
function parseUnsaid(body: Buffer): unknown {
  try {
    return parseJson(body);
  } catch {
    throw new Error('it answers with what is no JSON');
  }
}

/** The code of OAuth that a form was refused with (RFC 6749 §5.2): nothing else of the answer, which may hold what is secret. */
function errorIn(body: Buffer): string {
  try {
    const { error } = parseJson(body) as { readonly error?: unknown };
    return typeof error === 'string' && OAUTH_ERROR.test(error) ? ` (${error})` : '';
  } catch {
    return '';
  }
}
