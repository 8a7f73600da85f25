import type { Configuration, DeviceAuthorizationResponse } from 'openid-client';
import { MusterError } from './errors.js';
import { MAX_PROVIDER_BYTES, PROVIDER_TIMEOUT_SECONDS } from './limits.js';

/** An OpenID provider, and what this program is to it. */
export interface Provider {
  /** Its URL. */
  readonly issuer: string;
  readonly client_id: string;
  readonly scope: string;
}

/** What a person is to do. */
export interface DeviceCode {
  readonly code: string;
  /** Where the code is entered. */
  readonly url: string;
  /** The same with the code in it, if there is such a one. */
  readonly whole: string | null;
  readonly seconds: number;
}

type Library = typeof import('openid-client');

/**
 * Signs a person in by the device flow (RFC 8628): `show` tells them the code, and the provider is asked until they have entered it.
 * Returns the ID token, which the server judges.
 * @throws MusterError `provider_failed`, `sign_in_failed`
 */
export async function deviceFlow(provider: Provider, show: (code: DeviceCode) => void): Promise<string> {
  const library = await import('openid-client');
  const failed = (reason: string, cause?: unknown) =>
    new MusterError('provider_failed', { issuer: provider.issuer, client: provider.client_id, reason }, { cause });
  const tokens = new IdTokens();
  let config: Configuration;
  let begun: DeviceAuthorizationResponse;
  try {
    config = await discover(library, provider, tokens);
    begun = await library.initiateDeviceAuthorization(config, { scope: provider.scope });
  } catch (error) {
    throw failed(reasonOf(error), error);
  }
  show({
    code: begun.user_code,
    url: begun.verification_uri,
    whole: begun.verification_uri_complete ?? null,
    seconds: begun.expires_in,
  });
  try {
    await library.pollDeviceAuthorizationGrant(config, begun);
  } catch (error) {
    const reason = ENDED[codeOf(error)];
    if (reason === undefined) throw failed(reasonOf(error), error);
    throw new MusterError('sign_in_failed', { reason }, { cause: error });
  }
  if (tokens.last === undefined) throw failed('it gives no ID token: its scope must have openid in it');
  return tokens.last;
}

/** How the wait for a person ends otherwise than they should end it. */
const ENDED: Readonly<Record<string, string>> = {
  access_denied: 'it was refused in the browser',
  expired_token: 'nobody entered the code in time',
  TimeoutError: 'nobody entered the code in time',
};

async function discover(library: Library, { issuer, client_id }: Provider, tokens: IdTokens): Promise<Configuration> {
  const url = new URL(issuer);
  // What is said without TLS can be read and changed on its way: only to a provider on this very machine.
  const plain = url.protocol === 'http:' && isLoopback(url.hostname);
  return library.discovery(url, client_id, undefined, library.None(), {
    timeout: PROVIDER_TIMEOUT_SECONDS,
    [library.customFetch]: async (address: string, options: object) =>
      tokens.keptOf(await boundedFetch(address, options)),
    ...(plain && { execute: [library.allowInsecureRequests] }),
  });
}

const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost']);

/** Is it this very machine? */
export function isLoopback(hostname: string): boolean {
  return LOOPBACK.has(hostname);
}

/**
 * What becomes of ID tokens that a provider gives. The library would refuse one that is not for its client in words that say neither
 * what came nor what was expected, and no audit would have it.
 */
class IdTokens {
  last: string | undefined;

  /** The answer without its ID token, which is kept. */
  async keptOf(answer: Response): Promise<Response> {
    const { status, headers } = answer;
    const text = await answer.text();
    const { id_token: token, ...rest } = membersOf(text);
    if (typeof token !== 'string') return new Response(text === '' ? null : text, { status, headers });
    this.last = token;
    return new Response(JSON.stringify(rest), { status, headers });
  }
}

/** None of what is no object in JSON. */
function membersOf(text: string): Readonly<Record<string, unknown>> {
  try {
    return { ...JSON.parse(text) };
  } catch {
    return {};
  }
}

/** An answer is not read further than any of a provider goes. */
async function boundedFetch(url: string, options: object): Promise<Response> {
  const answer = await fetch(url, options);
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of answer.body ?? []) {
    bytes += piece.byteLength;
    if (bytes > MAX_PROVIDER_BYTES) throw new Error(`it answers with more than ${MAX_PROVIDER_BYTES} bytes`);
    pieces.push(piece);
  }
  const body = pieces.length === 0 ? null : Buffer.concat(pieces);
  return new Response(body, { status: answer.status, headers: answer.headers });
}

/** Of OAuth 2, or else the name of the error. Errors of the library have what happened as their cause. */
function codeOf(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ('error' in at && typeof at.error === 'string') return at.error;
    if (at.name === 'TimeoutError') return at.name;
  }
  return '';
}

/** What the provider says, or else what the innermost error does: a library's own words say little to whoever signs in. */
function reasonOf(error: unknown): string {
  let text = String(error);
  for (let at = error; at instanceof Error; at = at.cause) {
    if ('error' in at && typeof at.error === 'string') {
      const said = 'error_description' in at && typeof at.error_description === 'string' ? at.error_description : '';
      return said === '' ? at.error : `${at.error} (${said})`;
    }
    if (at.message !== '') text = at.message;
  }
  return text;
}
