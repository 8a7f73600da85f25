import type { FetchJson } from '../../outbound/fetch-json.js';

/** What an OpenID provider says of itself. */
export interface Discovered {
  readonly issuer: string;
  readonly jwks: URL;
  /** Where browsers go to sign in, and where what they come back with is redeemed; null: it does not say. */
  readonly authorization: URL | null;
  readonly token: URL | null;
  /** How a client with a secret may prove itself there (RFC 6749 §2.3.1). */
  readonly secretIn: 'header' | 'form' | null;
  /** Whoever comes back says from which issuer (RFC 9207). */
  readonly saysIssuer: boolean;
}

/** @throws Error that says why nothing is known of it. */
export async function discover(fetch: FetchJson, source: string): Promise<Discovered> {
  const base = source.replace(/\/$/, '');
  const said = ((await fetch(new URL(`${base}/.well-known/openid-configuration`))) ?? {}) as Said;
  const { issuer } = said;
  if (typeof issuer !== 'string' || issuer.replace(/\/$/, '') !== base) throw new Error(`its issuer is not ${source}`);
  const jwks = urlOf(said.jwks_uri);
  if (jwks === null) throw new Error('it does not say where its keys are');
  return {
    ...{ issuer, jwks },
    authorization: urlOf(said.authorization_endpoint),
    token: urlOf(said.token_endpoint),
    secretIn: secretIn(said.token_endpoint_auth_methods_supported ?? ['client_secret_basic']),
    saysIssuer: said.authorization_response_iss_parameter_supported === true,
  };
}

type Said = Readonly<Record<string, unknown>>;

function secretIn(methods: unknown): Discovered['secretIn'] {
  if (!Array.isArray(methods)) return null;
  if (methods.includes('client_secret_basic')) return 'header';
  return methods.includes('client_secret_post') ? 'form' : null;
}

function urlOf(said: unknown): URL | null {
  return typeof said === 'string' && URL.canParse(said) ? new URL(said) : null;
}
