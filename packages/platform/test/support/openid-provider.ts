import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { issue, newIssuer } from './jwt.js';

/** How often, in seconds, the provider wants to be asked: as fast as the protocol can say. */
const INTERVAL = 0.001;

/** What it answers to one question whether the person has signed in. */
export type Turn = 'authorization_pending' | 'slow_down' | 'access_denied' | 'expired_token' | 'signed in';

export interface OpenIdProvider {
  readonly url: string;
  /** One for each question, the last for all further ones. */
  turns: readonly Turn[];
  /** Of the ID tokens that it gives from now on. */
  claims: Readonly<Record<string, unknown>>;
  /** Seconds that a person has to enter the code. */
  patience: number;
  /** Where it may send browsers back to; null: anywhere. */
  redirectUris: readonly string[] | null;
  /** What a person with a browser does there: `asks` shows them a page with both. */
  person: 'agrees' | 'refuses' | 'asks';
  /** Of clients with a browser: they prove themselves by it, in a header; null: they are public ones. */
  clientSecret: string | null;
  /** It says who it is when it sends a browser back, and that it does (RFC 9207). */
  saysIssuer: boolean;
  /** By its clock, in milliseconds. */
  now: () => number;
  /** Form fields, or those of the query, of the requests so far, by path. */
  readonly asked: { readonly path: string; readonly form: URLSearchParams }[];
  close(): Promise<void>;
}

/** An OpenID provider with the device flow (RFC 8628) and the authorization code flow with PKCE, in this process. */
export async function openIdProvider(host = '127.0.0.1'): Promise<OpenIdProvider> {
  const keys = newIssuer('k1');
  const codes = new Map<string, URLSearchParams>();
  let questions = 0;
  const idToken = async (claims: object): Promise<string> => {
    const iat = Math.floor(provider.now() / 1000);
    const usual = { iss: provider.url, iat, jti: String(iat + Math.random()) };
    return issue(keys, provider.now(), { ...usual, ...claims, ...provider.claims }, { kid: 'k1' });
  };
  /** Where the browser goes with what it came for; null: it must not go there. */
  const sentBack = (asked: URLSearchParams, agreed: boolean): string | null => {
    const uri = asked.get('redirect_uri') ?? '';
    if (asked.get('response_type') !== 'code' || asked.get('code_challenge_method') !== 'S256') return null;
    if (provider.redirectUris?.includes(uri) === false) return null;
    const code = `code-${codes.size + 1}`;
    if (agreed) codes.set(code, asked);
    const back = new URL(uri);
    const brought = agreed ? { code } : { error: 'access_denied', error_description: 'not today' };
    const said = provider.saysIssuer ? { iss: provider.url } : {};
    for (const [name, value] of Object.entries({ ...brought, ...said, state: asked.get('state') ?? '', session: '1' }))
      back.searchParams.set(name, value);
    return back.href;
  };
  const redeemed = (form: URLSearchParams): URLSearchParams | null => {
    const asked = codes.get(form.get('code') ?? '');
    codes.delete(form.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    const same = ['client_id', 'redirect_uri'].every((name) => asked?.get(name) === form.get(name));
    return asked !== undefined && same && asked.get('code_challenge') === challenge ? asked : null;
  };
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const piece of request) text += piece;
    const { pathname: path, searchParams } = new URL(request.url ?? '', provider.url);
    const form = request.method === 'POST' ? new URLSearchParams(text) : searchParams;
    provider.asked.push({ path, form });
    const answer = (status: number, body: object) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    const page = (status: number, html: string) => {
      response.writeHead(status, { 'content-type': 'text/html' }).end(`<!doctype html><html lang="en">${html}`);
    };
    switch (path) {
      case '/.well-known/openid-configuration':
        return answer(200, {
          issuer: provider.url,
          jwks_uri: `${provider.url}/keys`,
          device_authorization_endpoint: `${provider.url}/device`,
          authorization_endpoint: `${provider.url}/authorize?realm=staff`,
          authorization_response_iss_parameter_supported: provider.saysIssuer,
          token_endpoint: `${provider.url}/token`,
        });
      case '/keys':
        return answer(200, { keys: [keys.jwk] });
      case '/device':
        questions = 0;
        return answer(200, {
          ...{ device_code: 'DEVICE', user_code: 'WDJB-MJHT', verification_uri: `${provider.url}/enter` },
          ...{ expires_in: provider.patience, interval: INTERVAL },
        });
      case '/authorize': {
        const does = form.get('person') ?? provider.person;
        const link = (what: string, name: string) => `<a href="?${form}&amp;person=${what}">${name}</a> `;
        if (does === 'asks')
          return page(
            200,
            `<title>Provider</title><h1>Provider</h1>${link('agrees', 'Agree')}${link('refuses', 'Refuse')}`,
          );
        const back = sentBack(form, does === 'agrees');
        if (back === null) return page(400, '<title>Provider</title><h1>Invalid redirect_uri</h1>');
        return void response.writeHead(302, { location: back }).end();
      }
      case '/token': {
        if (form.get('grant_type') === 'authorization_code') {
          if (provider.clientSecret !== null) {
            const proof = Buffer.from(request.headers.authorization?.replace('Basic ', '') ?? '', 'base64').toString();
            // Each as forms have them (RFC 6749 §2.3.1).
            const [client, secret] = proof.split(':').map((part) => new URLSearchParams(`_=${part}`).get('_'));
            if (secret !== provider.clientSecret) return answer(401, { error: 'invalid_client' });
            form.set('client_id', client ?? '');
          }
          const asked = redeemed(form);
          if (asked === null) return answer(400, { error: 'invalid_grant', error_description: 'no such code' });
          const id_token = await idToken({ aud: asked.get('client_id'), nonce: asked.get('nonce') ?? undefined });
          return answer(200, { access_token: 'AT', token_type: 'Bearer', id_token });
        }
        const turn = provider.turns[Math.min(questions++, provider.turns.length - 1)] ?? 'authorization_pending';
        if (turn !== 'signed in') return answer(400, { error: turn });
        return answer(200, {
          ...{ access_token: 'AT', token_type: 'Bearer' },
          id_token: await idToken({ aud: form.get('client_id') }),
        });
      }
      default:
        return answer(404, {});
    }
  });
  server.listen(0, host);
  await once(server, 'listening');
  const provider: OpenIdProvider = {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    turns: ['signed in'],
    claims: {},
    patience: 600,
    redirectUris: null,
    person: 'agrees',
    clientSecret: null,
    saysIssuer: false,
    now: () => Date.now(),
    asked: [],
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return provider;
}
