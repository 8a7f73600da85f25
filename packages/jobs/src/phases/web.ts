import { get as getHttp, type IncomingMessage } from 'node:http';
import { get as getHttps } from 'node:https';
import type { Readable } from 'node:stream';
import { checkHost, hostOf, PrivateAddress, publicLookup } from '@muster/platform/outbound';
import { obstacle } from '../recovery/conditions/index.js';
import { Blocked, Failed } from '../types.js';
import { LIMITS } from './limits.js';

/** Inputs from web servers. */
export interface Web {
  /** Bytes from `start` on, and how many there are in all; null: the server does not say. */
  open(
    url: URL,
    start: number,
    signal: AbortSignal,
  ): Promise<{ readonly body: Readable; readonly size: number | null }>;
}

const CONDITION = 'JOB_UNABLE_TO_STAGE_INPUTS';

export class HttpWeb implements Web {
  readonly #privateTargets: boolean;

  /** @param privateTargets Whether inputs may be at private addresses. */
  constructor({ privateTargets }: { readonly privateTargets: boolean }) {
    this.#privateTargets = privateTargets;
  }

  async open(url: URL, start: number, signal: AbortSignal) {
    let at = url;
    for (let hops = 0; hops <= LIMITS.redirects; hops++) {
      const response = await this.#get(at, start, signal);
      const { statusCode = 0, headers } = response;
      if (statusCode >= 300 && statusCode < 400 && headers.location !== undefined) {
        response.destroy();
        at = redirected(at, headers.location);
        continue;
      }
      return taken(url, response, start);
    }
    throw new Failed(CONDITION, `${shown(url)} leads elsewhere more than ${LIMITS.redirects} times`);
  }

  async #get(url: URL, start: number, signal: AbortSignal): Promise<IncomingMessage> {
    try {
      if (!this.#privateTargets) checkHost(url);
    } catch (error) {
      throw refused(url, error as Error);
    }
    const get = url.protocol === 'https:' ? getHttps : getHttp;
    const headers = { 'accept-encoding': 'identity', ...(start > 0 && { range: `bytes=${start}-` }) };
    return new Promise((resolve, reject) => {
      const lookup = this.#privateTargets ? {} : { lookup: publicLookup() };
      const options = { headers, signal, agent: false, timeout: LIMITS.webSilenceMs, ...lookup } as const;
      const request = get(url, options, resolve);
      request.on('timeout', () => request.destroy(new Error(`silent for ${LIMITS.webSilenceMs / 1000} s`)));
      request.on('error', (error) => reject(signal.aborted ? error : refused(url, error)));
    });
  }
}

function redirected(from: URL, location: string): URL {
  const url = URL.canParse(location, from.href) ? new URL(location, from) : null;
  if (url !== null && /^https?:$/.test(url.protocol)) return url;
  throw new Failed(CONDITION, `${shown(from)} leads to '${location.slice(0, 200)}', which is no web address`);
}

/** A server that knows no ranges sends all of it again: what is there already is passed over. */
function taken(url: URL, response: IncomingMessage, start: number) {
  const { statusCode = 0, headers } = response;
  const length = headers['content-length'] === undefined ? null : Number(headers['content-length']);
  if (statusCode === 206 && start > 0) {
    return { body: response as Readable, size: length === null ? null : start + length };
  }
  if (statusCode === 200)
    return { body: start === 0 ? (response as Readable) : skipped(response, start), size: length };
  response.destroy();
  const message = `${shown(url)} answers ${statusCode}`;
  if (statusCode >= 500 || statusCode === 429) throw away(url, new Error(message));
  throw new Failed(CONDITION, message);
}

function skipped(body: Readable, bytes: number): Readable {
  let left = bytes;
  return body.flatMap((piece: Buffer) => {
    const skip = Math.min(left, piece.length);
    left -= skip;
    return skip === piece.length ? [] : [piece.subarray(skip)];
  });
}

function refused(url: URL, error: Error): Error {
  if (!(error instanceof PrivateAddress)) return away(url, error);
  return new Failed(CONDITION, `${shown(url)} cannot be fetched: ${error.message}`, { cause: error });
}

function away(url: URL, cause: Error): Blocked {
  const says = `${shown(url)} cannot be fetched: ${cause.message}`;
  const protocol = url.protocol.replace(':', '');
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return new Blocked(obstacle('SERVICE_CONNECTION_FAILURE', says, { host: hostOf(url), port, protocol }), { cause });
}

/** Without what may be secret in it. */
function shown(url: URL): string {
  return `${url.protocol}//${url.host}${url.pathname}`;
}
