import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { issue, newIssuer } from '../../../platform/test/support/jwt.js';

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
  /** Form fields of the requests so far, by path. */
  readonly asked: { readonly path: string; readonly form: URLSearchParams }[];
  close(): Promise<void>;
}

/** An OpenID provider with the device flow (RFC 8628), in this process. */
export async function openIdProvider(): Promise<OpenIdProvider> {
  const keys = newIssuer('k1');
  let questions = 0;
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const piece of request) text += piece;
    const path = request.url ?? '';
    const form = new URLSearchParams(text);
    provider.asked.push({ path, form });
    const answer = (status: number, body: object) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    switch (path) {
      case '/.well-known/openid-configuration':
        return answer(200, {
          issuer: provider.url,
          jwks_uri: `${provider.url}/keys`,
          device_authorization_endpoint: `${provider.url}/device`,
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
      case '/token': {
        const turn = provider.turns[Math.min(questions++, provider.turns.length - 1)] ?? 'authorization_pending';
        if (turn !== 'signed in') return answer(400, { error: turn });
        const iat = Math.floor(Date.now() / 1000);
        const claims = { iss: provider.url, aud: form.get('client_id'), iat, jti: String(iat + Math.random()) };
        const id_token = await issue(keys, Date.now(), { ...claims, ...provider.claims }, { kid: 'k1' });
        return answer(200, { access_token: 'AT', token_type: 'Bearer', id_token });
      }
      default:
        return answer(404, {});
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const provider: OpenIdProvider = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    turns: ['signed in'],
    claims: {},
    patience: 600,
    asked: [],
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return provider;
}
