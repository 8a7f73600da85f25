import { Type } from 'typebox';
import type { Auth } from '../auth/auth.js';
import { ISSUER_LIMITS } from '../auth/issuers/types.js';
import { ORGANIZATION_NAME } from '../auth/names.js';
import { MusterError } from '../errors.js';
import { baseUrl } from '../http/base-url.js';
import { refuseOtherPages } from '../http/own-page.js';
import type { App } from '../http/route.js';
import { setSessionCookie, setSignInCookie, signInCookie } from '../http/session-cookie.js';
import { signInPlace } from './login.js';
import * as schemas from './schemas.js';
import { endFormer } from './sessions.js';
import * as signInSchemas from './sign-in-schemas.js';

const tags = ['login'];
const LOGIN = '/organizations/:org/login/:name';
const CONSOLE = '/console/';
/** Only its path is looked at. */
const NOWHERE = 'http://console.invalid';
const organizationName = new RegExp(ORGANIZATION_NAME);

/** Where a provider sends browsers back to: each issuer of each organization has a path of its own. */
export function callbackPath(organization: string, issuer: string): string {
  return `/organizations/${encodeURIComponent(organization)}/login/${encodeURIComponent(issuer)}/callback`;
}

/** People sign in to the console at an OpenID provider of the organization, and come back signed in. */
export function browserLoginRoutes(app: App, auth: Auth): void {
  app.post(
    LOGIN,
    {
      config: { permission: 'login', beforeAuth: refuseOtherPages },
      schema: {
        tags,
        operationId: 'beginSignIn',
        summary: 'Begin to sign a browser in at an OpenID provider: where it is to go',
        description:
          'By the authorization code flow with PKCE. A cookie, which goes along, binds what comes back to this browser, for ten minutes and once.',
        params: schemas.OrgNameParams,
        body: signInSchemas.BeginSignInBody,
        response: { 201: signInSchemas.BeginSignInAnswer },
      },
    },
    async (request, reply) => {
      const { org, name } = request.params;
      const organization = await signInPlace(auth, org, name);
      const returnTo = withinConsole(request.body.return_to ?? `${CONSOLE}${organization.name}`);
      const path = callbackPath(organization.name, name);
      const redirectUri = `${baseUrl(request)}${path}`;
      const { url, sealed } = await auth.browserSignIns.begin(organization, name, { redirectUri, returnTo });
      setSignInCookie(reply, path, { text: sealed, seconds: ISSUER_LIMITS.awayMs / 1000 });
      return reply.code(201).send({ url });
    },
  );

  app.get(
    `${LOGIN}/callback`,
    {
      config: { permission: 'login', accept: '*/*', refusedTo: ({ params }) => signInPage(params) },
      schema: {
        tags,
        operationId: 'finishSignIn',
        summary: 'Where a provider sends a browser back to: it is signed in, and led to the console',
        description:
          'Whoever is refused is led to the sign-in page, which is told the code of the error after `#sign-in-failed=`.',
        params: schemas.OrgNameParams,
        querystring: signInSchemas.BroughtBackQuery,
        response: { 303: Type.Null({ description: 'To the console' }) },
      },
    },
    async (request, reply) => {
      const { query, ip: address } = request;
      const { org, name } = request.params;
      // Whatever comes of it, it is used up.
      setSignInCookie(reply, callbackPath(org, name), null);
      const organization = await signInPlace(auth, org, name);
      const taken = signInCookie(request);
      const { token, returnTo } = await auth.browserSignIns.finish(organization, name, query, taken, address);
      // The session stands on that token, which nobody else gets to know.
      const { secret } = await auth.sessions.byToken(token, organization.name, address, 'provider');
      await endFormer(auth, request);
      setSessionCookie(reply, secret);
      return reply.header('cache-control', 'no-store').redirect(returnTo, 303);
    },
  );
}

/** @throws MusterError `invalid_field`: nobody is led elsewhere by it. */
function withinConsole(asked: string): string {
  const url = URL.canParse(asked, NOWHERE) ? new URL(asked, NOWHERE) : null;
  if (url?.origin !== NOWHERE || !url.pathname.startsWith(CONSOLE))
    throw new MusterError('invalid_field', { field: 'return_to', reason: `must be a path below ${CONSOLE}` });
  return url.pathname + url.search;
}

function signInPage(params: unknown): string {
  const { org = '' } = params as { readonly org?: string };
  return `${CONSOLE}${organizationName.test(org) ? org : ''}`;
}
