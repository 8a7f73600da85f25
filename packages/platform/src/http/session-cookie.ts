import type { FastifyReply, FastifyRequest } from 'fastify';

const SECRET = /^session_[\w-]{43}$/;

const isSecure = ({ protocol }: FastifyRequest): boolean => protocol === 'https';

/**
 * With the prefix a browser takes it from this host alone, by TLS, for all paths (RFC 6265bis §4.1.3). Without TLS there is no such
 * promise; a server without it listens on loopback, unless somebody asked for more.
 */
const nameOf = (request: FastifyRequest): string => (isSecure(request) ? '__Host-muster' : 'muster');

/** The secret of the session of a browser; null: it sends none. */
export function sessionCookie(request: FastifyRequest): string | null {
  const name = nameOf(request);
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const at = pair.indexOf('=');
    const value = pair.slice(at + 1).trim();
    if (at > 0 && pair.slice(0, at).trim() === name && SECRET.test(value)) return value;
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
