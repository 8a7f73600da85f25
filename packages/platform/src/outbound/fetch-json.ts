import { get as getPlain, type IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { parseJson, readBody } from '../http/body.js';
import { checkHost, publicLookup } from './addresses.js';

/** A document, and no more than that: bounded in time and length, and no other address is followed. */
export interface FetchLimits {
  readonly bytes: number;
  readonly timeoutMs: number;
}

/** @throws Error that says why there is none. */
export type FetchJson = (url: URL) => Promise<unknown>;

/** @param privateTargets Also from private addresses, and without TLS. */
export function fetchJson(limits: FetchLimits, privateTargets: boolean): FetchJson {
  return async (url) => {
    const plain = url.protocol === 'http:' && privateTargets;
    if (!plain && url.protocol !== 'https:') throw new Error('it must be an https URL');
    if (!privateTargets) checkHost(url);
    const signal = AbortSignal.timeout(limits.timeoutMs);
    const options = {
      headers: { accept: 'application/json' },
      signal,
      agent: false,
      ...(!privateTargets && { lookup: publicLookup() }),
    } as const;
    const response = await new Promise<IncomingMessage>((done, failed) => {
      (plain ? getPlain : get)(url, options, done).on('error', failed);
    });
    try {
      if (response.statusCode !== 200) throw new Error(`it answers with status ${response.statusCode}`);
      return parseJson(await readBody(response, limits.bytes));
    } finally {
      response.destroy();
    }
  };
}
