import { type IncomingMessage, request as requestPlain } from 'node:http';
import { request } from 'node:https';
import { parseJson, readBody } from '../http/body.js';
import { checkHost, publicLookup } from './addresses.js';

/** A document, and no more than that: bounded in time and length, and no other address is followed. */
export interface FetchLimits {
  readonly bytes: number;
  readonly timeoutMs: number;
}

/** What is sent. */
export interface Sent {
  readonly form: URLSearchParams;
  /** Name and secret of a client, as OAuth has them in a header (RFC 6749 §2.3.1); null: it has none there. */
  readonly basic: readonly [name: string, secret: string] | null;
}

/**
 * @param sent With POST; without it it is a GET.
 * @throws Error that says why there is none.
 */
export type FetchJson = (url: URL, sent?: Sent) => Promise<unknown>;

/** A form was refused with a code of OAuth (RFC 6749 §5.2). */
export class FormRefused extends Error {
  readonly code: string;

  constructor(status: number | undefined, code: string) {
    super(`it answers with status ${status} (${code})`);
    this.code = code;
  }
}

const OAUTH_ERROR = /^[\w-]{1,64}$/;

/** @param privateTargets Also from private addresses, and without TLS. */
export function fetchJson(limits: FetchLimits, privateTargets: boolean): FetchJson {
  return async (url, sent) => {
    const plain = url.protocol === 'http:' && privateTargets;
    if (!plain && url.protocol !== 'https:') throw new Error('it must be an https URL');
    if (!privateTargets) checkHost(url);
    const signal = AbortSignal.timeout(limits.timeoutMs);
    const options = {
      ...(sent !== undefined && { method: 'POST' }),
      headers: {
        accept: 'application/json',
        ...(sent !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
        ...(sent?.basic && { authorization: basicOf(sent.basic) }),
      },
      signal,
      agent: false,
      ...(!privateTargets && { lookup: publicLookup() }),
    } as const;
    const response = await new Promise<IncomingMessage>((done, failed) => {
      (plain ? requestPlain : request)(url, options, done).on('error', failed).end(sent?.form.toString());
    });
    try {
      const { statusCode: status } = response;
      if (status !== 200 && sent === undefined) throw new Error(`it answers with status ${status}`);
      const body = await readBody(response, limits.bytes);
      if (status !== 200) {
        const code = errorIn(body);
        throw code === null ? new Error(`it answers with status ${status}`) : new FormRefused(status, code);
      }
      return sent === undefined ? parseJson(body) : parseUnsaid(body);
    } finally {
      response.destroy();
    }
  };
}

function basicOf(pair: readonly string[]): string {
  return `Basic ${Buffer.from(pair.map((part) => new URLSearchParams([['', part]]).toString().slice(1)).join(':')).toString('base64')}`;
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
function errorIn(body: Buffer): string | null {
  try {
    const { error } = parseJson(body) as { readonly error?: unknown };
    return typeof error === 'string' && OAUTH_ERROR.test(error) ? error : null;
  } catch {
    return null;
  }
}
