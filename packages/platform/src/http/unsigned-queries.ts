import { createHash } from 'node:crypto';
import type { Clock } from '@muster/base';
import { SIGNING_LIMITS, type SignedHeaders } from '@muster/signing';
import { MusterError } from '../errors.js';
import { HTTP_LIMITS } from './limits.js';

interface Used {
  /** Hashes of the queries that came with it while it was new. */
  readonly queries: Set<string>;
  readonly since: number;
}

/**
 * What a query may hold that the signature does not cover, as deployed clients send it (sheet §1.2): only what their
 * route names, and nothing that did not come with the signature while it was new. So a request that somebody has recorded
 * can be repeated, while it is not too old, but not with another CURVE key in it. Signatures have whole seconds: a client
 * that asks twice within one gives both the same.
 */
export class UnsignedQueries {
  readonly #clock: Clock;
  /** By signature, the oldest first. */
  readonly #used = new Map<string, Used>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** To be asked once the signature has verified. @throws MusterError `query_not_signed`, `query_changed` */
  check(
    signed: SignedHeaders,
    query: { readonly text: string; readonly parameters: readonly string[] },
    allowed: readonly string[],
  ): void {
    if (signed.queryHash !== null || query.text === '') return;
    const { userId: name } = signed;
    const refused = query.parameters.find((parameter) => !allowed.includes(parameter));
    if (refused !== undefined) {
      const parameter = refused.slice(0, HTTP_LIMITS.echoedCharacters);
      throw new MusterError('query_not_signed', { parameter, name });
    }
    // Its bytes: base64 can be written in many ways.
    const signature = hash(Buffer.from(signed.signature, 'base64'));
    if (!this.#goesWith(signature, hash(query.text))) throw new MusterError('query_changed', { name });
  }

  #goesWith(signature: string, query: string): boolean {
    const now = this.#clock.monotonic();
    const used = this.#used.get(signature) ?? this.#remember(signature, now);
    const isNew = now - used.since < HTTP_LIMITS.sameSignatureMs && used.queries.size < HTTP_LIMITS.queriesOfSignature;
    if (isNew) used.queries.add(query);
    return used.queries.has(query);
  }

  #remember(signature: string, now: number): Used {
    // Its timestamp may be ahead of this clock, and is good for as long again after it.
    const kept = now - 2 * SIGNING_LIMITS.requestSkewMs;
    for (const [oldest, { since }] of this.#used) {
      if (since > kept && this.#used.size < HTTP_LIMITS.unsignedQueries) break;
      this.#used.delete(oldest);
    }
    const used = { queries: new Set<string>(), since: now };
    this.#used.set(signature, used);
    return used;
  }
}

function hash(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('base64');
}
