import type { Clock } from '@muster/base';
import type { FetchJson } from '../../outbound/fetch-json.js';
import { type Discovered, discover } from './discovery.js';
import { ISSUER_LIMITS } from './types.js';

/** Where people sign in with their browsers, and where what they come back with is redeemed. */
export interface SignInPlaces extends Pick<Discovered, 'saysIssuer' | 'secretIn'> {
  readonly authorization: URL;
  readonly token: URL;
}

/** With what somebody has come back, and with what they had left. */
export interface Redeemed {
  readonly clientId: string;
  /** Of the client; null: it is a public one. */
  readonly secret: string | null;
  readonly code: string;
  readonly redirectUri: string;
  readonly verifier: string;
}

interface Known {
  readonly until: number;
  readonly places: Promise<SignInPlaces>;
}

/** The providers that are remembered. */
const MOST_PROVIDERS = 1000;

/** OpenID providers at which browsers sign in, by the authorization code flow with PKCE (RFC 6749 §4.1, RFC 7636). */
export class Providers {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #fetch: FetchJson;
  readonly #known = new Map<string, Known>();

  constructor(clock: Pick<Clock, 'monotonic'>, fetch: FetchJson) {
    this.#clock = clock;
    this.#fetch = fetch;
  }

  /** Of the one whose URL this is; asked for once in a while, however many ask here. @throws Error that says why nobody can sign in there. */
  places(source: string): Promise<SignInPlaces> {
    const now = this.#clock.monotonic();
    const known = this.#known.get(source);
    if (known !== undefined && now < known.until) return known.places;
    const places = discover(this.#fetch, source).then((found) => placesOf(source, found));
    const keep = (ms: number): void => {
      if (this.#known.size >= MOST_PROVIDERS) this.#known.clear();
      this.#known.set(source, { until: now + ms, places });
    };
    keep(ISSUER_LIMITS.keysMs);
    // One that does not answer is not asked again by everybody who would sign in.
    places.catch(() => keep(ISSUER_LIMITS.refetchMs));
    return places;
  }

  /** The ID token that a code is good for, once. @throws Error that says why there is none, without anything that is secret */
  async redeem({ token, secretIn }: SignInPlaces, redeemed: Redeemed): Promise<string> {
    const { clientId, secret, code, redirectUri, verifier } = redeemed;
    if (secret !== null && secretIn === null)
      throw new Error('it takes no client secret: make it a public client there');
    const inHeader = secret !== null && secretIn === 'header';
    const form = new URLSearchParams({
      ...{ grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier },
      ...(!inHeader && { client_id: clientId, ...(secret !== null && { client_secret: secret }) }),
    });
    const answer = await this.#fetch(token, { form, basic: inHeader ? [clientId, secret] : null });
    const { id_token: idToken } = (answer ?? {}) as { readonly id_token?: unknown };
    if (typeof idToken === 'string') return idToken;
    throw new Error('it gives no ID token: its scope must have openid in it');
  }
}

function placesOf(source: string, { saysIssuer, secretIn, authorization, token }: Discovered): SignInPlaces {
  if (authorization === null) throw new Error('it does not say where browsers sign in (authorization_endpoint)');
  if (token === null) throw new Error('it does not say where codes are redeemed (token_endpoint)');
  const { protocol } = new URL(source);
  for (const place of [authorization, token]) {
    if (place.protocol !== 'https:' && place.protocol !== protocol) throw new Error(`${place.origin} has no TLS`);
  }
  return { saysIssuer, secretIn, authorization, token };
}
