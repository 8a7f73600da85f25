import type { SignedHeaders } from '@muster/wire';
import type { FastifyRequest } from 'fastify';
import type { Identity, Organization } from '../auth/types.js';
import type { App } from './route.js';

/** How a request says who sends it, before that is verified. */
export type Credentials =
  | { readonly kind: 'signature'; readonly signed: SignedHeaders }
  | { readonly kind: 'bearer'; readonly token: string };

/** What the gate has established about one request so far. */
export interface Passage {
  rawBody: Buffer;
  credentials?: Credentials;
  caller?: Identity;
  organization?: Organization;
}

const EMPTY = Buffer.alloc(0);
const passages = new WeakMap<object, Passage>();

export function passageOf(request: FastifyRequest): Passage {
  const known = passages.get(request.raw);
  if (known !== undefined) return known;
  const fresh: Passage = { rawBody: EMPTY };
  passages.set(request.raw, fresh);
  return fresh;
}

/** Makes what was established readable on the request; reading what was not is a mistake in a route. */
export function decorateRequests(app: App): void {
  const established = <Key extends 'caller' | 'organization'>(key: Key) => ({
    getter(this: FastifyRequest): NonNullable<Passage[Key]> {
      const value = passageOf(this)[key];
      if (value === undefined) throw new Error(`${this.method} ${this.routeOptions.url} has no ${key}`);
      return value;
    },
  });
  app.decorateRequest('caller', established('caller'));
  app.decorateRequest('organization', established('organization'));
  app.decorateRequest('rawBody', {
    getter(this: FastifyRequest) {
      return passageOf(this).rawBody;
    },
  });
}
