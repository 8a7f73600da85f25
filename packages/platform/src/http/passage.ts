import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { SignedHeaders } from '@muster/signing';
import type { FastifyRequest } from 'fastify';
import type { GivenJwt } from '../auth/issuers/issued.js';
import type { Identity, Organization } from '../auth/types.js';
import { isOfType, piecesOf } from './body.js';
import type { App } from './route.js';

/** How a request says who sends it, before that is verified. */
export type Credentials =
  | { readonly kind: 'signature'; readonly signed: SignedHeaders }
  /** `name`: whose it is said to be, where that is said. */
  | { readonly kind: 'bearer'; readonly token: string; readonly name?: string }
  /** Of a browser that is signed in to the console. */
  | { readonly kind: 'session'; readonly secret: string }
  | ({ readonly kind: 'jwt' } & GivenJwt);

/** For an answer that stays open: who reads it, and how long they may. */
export interface Admission {
  /** Id of the principal. */
  readonly reader: string;
  /** Calls `lost` once when the right on which it was begun is gone. Returns how to stop watching. */
  watch(lost: () => void): () => void;
}

/** What the gate has established about one request so far. */
export interface Passage {
  rawBody: Buffer;
  /** The body, in the place of `rawBody`, where the route reads it itself. */
  payload?: IncomingMessage;
  /** When judging it began, as `performance.now()` has it. */
  judgedAt?: number;
  credentials?: Credentials;
  caller?: Identity;
  admission?: Admission;
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

/** Only who was let in holds an answer open. */
export function admissionOf(request: FastifyRequest): Admission {
  const { admission } = passageOf(request);
  if (admission === undefined) throw new Error(`${request.method} ${request.routeOptions.url} let nobody in`);
  return admission;
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
  app.decorateRequest('isStreamed', {
    getter(this: FastifyRequest) {
      return isStreamed(this);
    },
  });
  app.decorateRequest('pieces', function pieces(this: FastifyRequest): AsyncIterable<Buffer> {
    const { payload, rawBody } = passageOf(this);
    return piecesOf(payload ?? Readable.from([rawBody], { objectMode: false }));
  });
}

export function isStreamed(request: FastifyRequest): boolean {
  const { streamed } = request.routeOptions.config;
  return streamed !== undefined && isOfType(request, streamed);
}
