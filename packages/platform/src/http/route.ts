import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type {
  FastifyBaseLogger,
  FastifyContextConfig,
  FastifyInstance,
  FastifySchema,
  RawServerDefault,
} from 'fastify';
import type { Identity, Organization, Permission } from '../auth/types.js';

/** The server as routes see it: handlers are typed by their TypeBox schemas. */
export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

/**
 * `public` needs no authentication at all; `enrol` authenticates by the enrolment token in its body, `login` by the token of an
 * issuer there.
 */
export type OpenPermission = 'public' | 'enrol' | 'login';
export type RoutePermission = Permission | OpenPermission;

/** Nothing outside the body says who sends it. */
export function isOpen(permission: RoutePermission | undefined): permission is OpenPermission {
  return permission === 'public' || permission === 'enrol' || permission === 'login';
}

/** Members of the entries of a list that may be asked for alone, by the query parameter `fields`. */
export interface ListedFields {
  readonly names: readonly string[];
  /** The member of the answer that is the list; null: the answer is. */
  readonly within: string | null;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Every route names it, or the server does not start. */
    permission?: RoutePermission;
    /**
     * Does it make, empower or take away a principal: users, services, nodes, keys, tokens, groups and their members,
     * grants, organizations? Then a signature is needed, not only a token: who finds a token must not be able to turn it
     * into something that outlives it. Every route that changes anything says it, or the server does not start.
     */
    empowers?: boolean;
    /**
     * Tokens of the organization's issuers are taken besides. `credentials`: the path names no organization, it is that of the
     * token, or the only one of who signs; `path`: the path names it.
     */
    tenant?: 'credentials' | 'path';
    /**
     * Pages of the console ask it about their session: a browser that has none hears so, and the organization is that of the
     * session.
     */
    ofSession?: boolean;
    /** Media type of the answer, `application/json` when absent; checked before existence (sheet §7.2). That of anything: not checked. */
    accept?: string;
    /**
     * Checks that the deployed server makes after the signature headers and before the signature itself: the body of
     * POST jobs, `ccpk` of a configuration request (sheet §7.2). Reads `request.rawBody`; throws MusterError.
     */
    beforeAuth?: (request: FastifyRequest) => void;
    /**
     * Query parameters that a signature may leave out, because deployed clients send them and sign no query. Others need
     * a signed query, or a token.
     */
    unsignedQuery?: readonly string[];
    /** Of the list that it answers: entries may be asked for in part. */
    fields?: ListedFields;
    /**
     * For clients of another system that know HTTP basic alone: a user's name and an access token of theirs are taken besides, and
     * asked for in this realm.
     */
    basicRealm?: string;
    /**
     * Browsers come here by themselves, no page asks: who is refused is led to this path, the code of the error after
     * `#sign-in-failed=`.
     */
    refusedTo?: (request: FastifyRequest) => string;
    /** It shows what commands, tasks or jobs have written: who asks for it is audited, as `output.read`. */
    showsOutput?: boolean;
    /** Its answer may go on for long: browsers may ask for it over a WebSocket. */
    goesOn?: boolean;
    /** Its handler reads `request.rawBody` by itself: of any type, and also that of a GET. For clients of other systems. */
    anyBody?: boolean;
    /**
     * A media type besides JSON whose bodies the handler reads itself, piece by piece: `request.pieces()`. With a token
     * they may have any length; a signature covers the whole body, so that a signed one is read first, as any other.
     */
    streamed?: string;
  }

  interface FastifyRequest {
    /** Body as received, for signatures; empty when there was none. */
    readonly rawBody: Buffer;
    /** Is this body of the type that the route reads itself? */
    readonly isStreamed: boolean;
    /** The body in pieces, once. @throws MusterError `invalid_json` when the sender hangs up before its end. */
    pieces(): AsyncIterable<Buffer>;
    /** Who is calling. Throws on a `public` or `enrol` route. */
    readonly caller: Identity;
    /** The organization of the route's `:org`. Throws on a route without one. */
    readonly organization: Organization;
  }
}

/** Of files for browsers, whoever asks, which the description of the API leaves out. */
export const FILE_ROUTE: { readonly config: FastifyContextConfig; readonly schema: FastifySchema } = {
  config: { permission: 'public', accept: '*/*' },
  schema: { hide: true },
};
