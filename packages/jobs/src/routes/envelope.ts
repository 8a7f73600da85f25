import type { ErrorShape } from '@muster/platform/http';
import type { FastifyReply } from 'fastify';

/** Of the interface, as clients of Agave compare it: as text it comes after `2.2.22-r7deb380`. */
export const API_VERSION = '2.4.0';

/** How every answer looks (sheet §8.1). */
export interface Envelope {
  readonly status: 'success' | 'error';
  readonly message: string | null;
  readonly version: string;
  readonly result?: unknown;
}

/** By which codes of the Aloe catalogue clients know what the gate refuses. */
const OF_THE_GATE: Readonly<Record<string, string>> = {
  // Nobody has said who they are, or it was not believed (sheet §8.2).
  missing_auth_headers: 'ALOE_SECURITY_MISSING_JWT_INFO',
  login_missing: 'ALOE_SECURITY_MISSING_JWT_INFO',
  invalid_jwt: 'ALOE_SECURITY_JWT_DECODE_ERROR',
  jwt_for_other: 'ALOE_SECURITY_JWT_DECODE_ERROR',
  issuer_unavailable: 'ALOE_SECURITY_GET_CERTIFICATE',
  organization_not_found: 'ALOE_TENANT_NOT_FOUND',
  // Of no tenant, or of another one (sheet §1.3).
  tenant_unclear: 'JOBS_NO_TENANT_ID',
  not_associated: 'JOBS_MISMATCHED_TENANT',
  signed_in_elsewhere: 'JOBS_MISMATCHED_TENANT',
  // The gate only reads the body here: what is in it is looked at later.
  body_too_large: 'NET_POST_PAYLOAD_ACCESS',
  invalid_json: 'NET_POST_PAYLOAD_ACCESS',
};

/** What clients of Agave expect of every refusal below these paths, also of one of the gate. */
export const AGAVE_ERRORS: ErrorShape = {
  paths: /^\/+(?:organizations\/+[^/?]+\/+)?(?:jobs|apps|systems)\/+v2(?:[/?]|$)/,
  // Who does not say who they are is not known.
  status: ({ code, status }) => (code === 'missing_auth_headers' ? 401 : status),
  body: ({ code, message, status, fix }): Envelope => {
    const known = OF_THE_GATE[code];
    const text = known === undefined ? message : `${known} ${message}`;
    // Clients show the message alone, and it is not the request that is to be mended.
    const whole = status === 401 ? `${text}. ${fix}` : text;
    return { status: 'error', message: whole, version: API_VERSION };
  },
};

/** Other services of Agave, which clients ask on their way (sheet §8). */
export const AGAVE_ABSENT: ErrorShape = {
  paths:
    /^\/+(?:(?:files|meta|profiles|notifications|monitors|postits|transfers|transforms|tags|uuids|realtime|groups|clients)\/+v2|tenants|token|revoke)(?:[/?]|$)/,
  body: ({ code, message }): Envelope => {
    const text = code === 'route_not_found' ? `${message}: of Agave there are jobs, apps and systems here` : message;
    return { status: 'error', message: text, version: API_VERSION };
  },
};

export interface Answer {
  readonly status?: number;
  readonly result?: unknown;
  /** For people, with a success. */
  readonly message?: string;
}

export interface Manner {
  /** Over several lines. */
  readonly pretty: boolean;
  /** The result alone. */
  readonly naked: boolean;
}

export function sendAnswer(reply: FastifyReply, { status = 200, result, message }: Answer, manner: Manner) {
  const envelope: Envelope = { status: 'success', message: message ?? null, version: API_VERSION, result };
  const body = manner.naked ? (result ?? null) : envelope;
  return reply
    .code(status)
    .header('content-type', 'application/json; charset=utf-8')
    .serializer((text: unknown) => String(text))
    .send(JSON.stringify(body, null, manner.pretty ? 2 : 0));
}
