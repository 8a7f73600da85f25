import type { Clock } from '@muster/base';
import type { FetchJson } from '../../outbound/fetch-json.js';
import { type Discovered, discover } from './discovery.js';
import { type IssuerKey, keysOfSet, pemKey } from './keys.js';
import { ISSUER_LIMITS, type Issuer } from './types.js';

type Source = Pick<Issuer, 'kind' | 'source'>;

/** What is known of the keys of one place. */
interface Held {
  keys: readonly IssuerKey[];
  /** When they were fetched, and when that was tried last; never: -Infinity. */
  fetched: number;
  tried: number;
  fetching: Promise<void> | null;
  failure: unknown;
}

/** The places of keys that are remembered. */
const MOST_PLACES = 1000;

/** The keys of issuers: of those that publish them fetched, kept for a while, and fetched again when they change. */
export class KeyRing {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #fetch: FetchJson;
  readonly #held = new Map<string, Held>();

  constructor(clock: Pick<Clock, 'monotonic'>, fetch: FetchJson) {
    this.#clock = clock;
    this.#fetch = fetch;
  }

  /** Keys that may have made a signature. `kid` null: the token does not say. @throws Error that says why there are none. */
  async keys(issuer: Source, kid: string | null): Promise<readonly IssuerKey[]> {
    if (issuer.kind === 'public_key') return [pemKey(issuer.source)];
    const held = this.#heldOf(issuer);
    const now = this.#clock.monotonic();
    const known = fitting(held.keys, kid);
    const old = now - held.fetched >= ISSUER_LIMITS.keysMs;
    const wanted = old || known.length === 0;
    if (wanted && now - held.tried >= ISSUER_LIMITS.refetchMs) await this.#refresh(issuer, held);
    else if (wanted && held.fetching !== null) await held.fetching;
    if (this.#clock.monotonic() - held.fetched >= ISSUER_LIMITS.staleMs) {
      throw held.failure ?? new Error('its keys could not be fetched');
    }
    return fitting(held.keys, kid);
  }

  /** Looks whether there are keys. How many. @throws Error that says why there are none. */
  async check(issuer: Source): Promise<number> {
    const { length } = await this.#fetched(issuer);
    if (length === 0) throw new Error('it has no key with which signatures can be verified');
    return length;
  }

  /** What an OpenID provider says of itself. @throws Error */
  discover(source: string): Promise<Discovered> {
    return discover(this.#fetch, source);
  }

  #refresh(issuer: Source, held: Held): Promise<void> {
    held.tried = this.#clock.monotonic();
    held.fetching = this.#fetched(issuer)
      .then(
        (keys) => {
          held.keys = keys;
          held.fetched = this.#clock.monotonic();
        },
        (error: unknown) => {
          held.failure = error;
        },
      )
      .finally(() => {
        held.fetching = null;
      });
    return held.fetching;
  }

  async #fetched({ kind, source }: Source): Promise<readonly IssuerKey[]> {
    if (kind === 'public_key') return [pemKey(source)];
    const place = kind === 'oidc' ? (await this.discover(source)).jwks : new URL(source);
    return keysOfSet(await this.#fetch(place));
  }

  #heldOf({ kind, source }: Source): Held {
    const place = `${kind} ${source}`;
    const known = this.#held.get(place);
    if (known !== undefined) return known;
    if (this.#held.size >= MOST_PLACES) this.#held.clear();
    const held: Held = { keys: [], fetched: -Infinity, tried: -Infinity, fetching: null, failure: null };
    this.#held.set(place, held);
    return held;
  }
}

function fitting(keys: readonly IssuerKey[], kid: string | null): readonly IssuerKey[] {
  return kid === null ? keys : keys.filter((key) => key.kid === kid || key.kid === null);
}
