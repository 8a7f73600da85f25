import { type ErrorCode, errorRow } from '@muster/base';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { MusterError } from '../errors.js';
import { headerText } from './header-text.js';

/** Sheet §1.5: rows 7 and 10, which are one here, name the schemes, rows 2 and 3 do not. */
const SIGNATURE_CHALLENGE = 'X-Ops-Sign version="1.0" version="1.1"';

const BEARERS: ReadonlySet<ErrorCode> = new Set([
  'invalid_token',
  'invalid_jwt',
  'jwt_for_other',
  'login_missing',
] as const);

function challenge(code: ErrorCode): string | undefined {
  if (code === 'unknown_principal' || code === 'key_expired') return SIGNATURE_CHALLENGE;
  return BEARERS.has(code) ? 'Bearer' : undefined;
}

/** Exactly the deployed body; code and advice travel in headers, because clients compare whole bodies. */
export function errorBody(error: MusterError): { error: string | [string] } {
  return { error: errorRow(error.code).listed === true ? [error.message] : error.message };
}

/** What the framework refuses by itself, in terms of the one table; everything unexpected is `internal`. */
export function toMusterError(error: FastifyError | MusterError): MusterError {
  if (error instanceof MusterError) return error;
  switch (error.code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_EMPTY_TYPE':
      return new MusterError('unsupported_media_type');
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new MusterError('invalid_json', { reason: 'its length is not the announced one' }, { cause: error });
    case 'FST_ERR_BAD_URL':
      return new MusterError('invalid_field', { field: 'path', reason: 'it is not valid percent-encoding' });
    default:
      return new MusterError('internal', {}, { cause: error });
  }
}

/** How clients of another system expect errors, on the paths that they know. */
export interface ErrorShape {
  readonly paths: RegExp;
  /** That of the error unless given. */
  status?(error: MusterError): number;
  body(error: MusterError): unknown;
}

/** After how many seconds a refusal for want of something that comes back is worth another try. */
const RETRY_SECONDS = 5;

/** The only place that turns an error into an answer. */
export function sendError(
  error: MusterError,
  request: FastifyRequest,
  reply: FastifyReply,
  shapes: readonly ErrorShape[] = [],
): void {
  if (error.code === 'internal') {
    request.log.error({ err: error.cause ?? error, requestId: request.id }, 'request failed');
  }
  if (error.code === 'method_not_allowed') reply.header('allow', String(error.details.allow ?? ''));
  if (error.code === 'range_not_satisfiable') reply.header('content-range', `bytes */${error.details.size}`);
  if (error.status === 503 || error.status === 429)
    reply.header('retry-after', String(error.details.seconds ?? RETRY_SECONDS));
  const { refusedTo } = request.routeOptions.config;
  if (refusedTo !== undefined) {
    void reply
      .headers({ 'x-muster-error': error.code, 'x-request-id': request.id, 'cache-control': 'no-store' })
      .redirect(`${refusedTo(request)}#sign-in-failed=${error.code}`, 303);
    return;
  }
  const shape = shapes.find(({ paths }) => paths.test(request.raw.url ?? ''));
  const scheme = challenge(error.code);
  // Clients that wait for a challenge with this realm look for it in a header of its own.
  const { basicRealm } = request.routeOptions.config;
  const basic = basicRealm !== undefined && error.status === 401 ? `Basic realm="${basicRealm}"` : undefined;
  const schemes = [scheme, basic].filter((one) => one !== undefined);
  if (schemes.length > 0) reply.header('www-authenticate', schemes);
  void reply
    .code(shape?.status?.(error) ?? error.status)
    .header('x-muster-error', error.code)
    .header('x-muster-fix', headerText(error.fix))
    .header('x-request-id', request.id)
    .type('application/json; charset=utf-8')
    .serializer((body: unknown) => JSON.stringify(body))
    .send(shape === undefined ? errorBody(error) : shape.body(error));
}
