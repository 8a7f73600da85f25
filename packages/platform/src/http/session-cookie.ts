import type { FastifyReply, FastifyRequest } from 'fastify';

const SECRET = /^session_[\w-]{43}$/;
const SEALED = /^[\w-]{1,4000}$/;
const SIGN_IN = '-sign-in';

const isSecure = ({ protocol }: FastifyRequest): boolean => protocol === 'https';

/**
 * With the prefix a browser takes it from this host alone, by TLS, for all paths (RFC 6265bis §4.1.3). Without TLS there is no such
 * promise; a server without it listens on loopback, unless somebody asked for more.
 */
const nameOf = (request: FastifyRequest, what = ''): string => `${isSecure(request) ? '__Host-' : ''}muster${what}`;

/** The secret of the session of a browser; null: it sends none. */
export function sessionCookie(request: FastifyRequest): string | null {
  return cookieOf(request, nameOf(request), SECRET);
}

/** What a browser took along to a provider; null: it sends nothing of that kind. */
export function signInCookie(request: FastifyRequest): string | null {
  return cookieOf(request, nameOf(request, SIGN_IN), SEALED);
}

function cookieOf(request: FastifyRequest, name: string, pattern: RegExp): string | null {
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const at = pair.indexOf('=');
    const value = pair.slice(at + 1).trim();
    if (at > 0 && pair.slice(0, at).trim() === name && pattern.test(value)) return value;
  }
  return null;
}

/** The browser keeps it until it is closed; null: it forgets it now. Scripts never see it, pages of others never send it. */
export function setSessionCookie(reply: FastifyReply, secret: string | null): void {
  const { request } = reply;
  const attributes = ['Path=/', 'HttpOnly', 'SameSite=Strict'];
  if (isSecure(request)) attributes.push('Secure');
  if (secret === null) attributes.push('Max-Age=0');
  reply.header('set-cookie', [`${nameOf(request)}=${secret ?? ''}`, ...attributes].join('; '));
}

/**
 * Goes to a provider and back with its browser: `Lax`, as it is a page of the provider that leads back. Null: the browser forgets it now.
 * @param path Where it comes back to. With TLS the prefix of the name, by which no other host can set it, takes `/` alone.
 */
export function setSignInCookie(
  reply: FastifyReply,
  path: string,
  sealed: { readonly text: string; readonly seconds: number } | null,
): void {
  const { request } = reply;
  const secure = isSecure(request);
  const attributes = [`Path=${secure ? '/' : path}`, 'HttpOnly', 'SameSite=Lax', `Max-Age=${sealed?.seconds ?? 0}`];
  if (secure) attributes.push('Secure');
  reply.header('set-cookie', [`${nameOf(request, SIGN_IN)}=${sealed?.text ?? ''}`, ...attributes].join('; '));
}
