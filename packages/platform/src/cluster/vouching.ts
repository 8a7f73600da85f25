import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import type { Clock } from '@muster/base';
import { CLUSTER_LIMITS } from './limits.js';

/** What a server that passes a request on says of it. */
export const VOUCHED_HEADER = 'x-muster-passed-on';

/** Who sent a request to another server of the cluster. */
export interface Sender {
  readonly address: string;
  readonly port: number;
  readonly protocol: 'http' | 'https';
}

const SHAPE = /^(\d{1,16}) (\S{2,45}) (\d{1,5}) (https?) ([\w-]{43})$/;

/**
 * Servers of a cluster believe each other about where a request came from, and nobody else: by a key that is made from the one that all of them
 * have for secrets.
 */
export class Vouching {
  readonly #key: Uint8Array;
  readonly #clock: Pick<Clock, 'now'>;

  constructor(key: Uint8Array, clock: Pick<Clock, 'now'>) {
    this.#key = key;
    this.#clock = clock;
  }

  header({ address, port, protocol }: Sender, method: string, url: string): string {
    const said = `${this.#clock.now()} ${address} ${port} ${protocol}`;
    return `${said} ${this.#mac(said, method, url).toString('base64url')}`;
  }

  /** null: no server of the cluster says so, or too long ago. */
  sender(headers: IncomingHttpHeaders, method: string, url: string): Sender | null {
    const { [VOUCHED_HEADER]: header } = headers;
    const [, at = '', address = '', port = '', protocol = '', mac = ''] = SHAPE.exec(String(header ?? '')) ?? [];
    if (mac === '') return null;
    const given = Buffer.from(mac, 'base64url');
    const expected = this.#mac(`${at} ${address} ${port} ${protocol}`, method, url);
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null;
    if (Math.abs(this.#clock.now() - Number(at)) > CLUSTER_LIMITS.vouchedMs) return null;
    if (isIP(address) === 0) return null;
    return { address, port: Number(port), protocol: protocol === 'https' ? 'https' : 'http' };
  }

  #mac(said: string, method: string, url: string): Buffer {
    return createHmac('sha256', this.#key).update(`${said}\n${method}\n${url}`).digest();
  }
}
