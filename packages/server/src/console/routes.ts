import { type App, encodingsTaken, FILE_ROUTE } from '@muster/platform/http';
import { MusterError } from '../errors.js';
import { type ConsoleFile, type ConsoleFiles, type Encoding, INDEX } from './files.js';

/** The page loads nothing from anywhere else, runs no text as a program, and stands in no frame. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types muster',
].join('; ');

const HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  vary: 'Accept-Encoding',
} as const;

const YEAR_SECONDS = 31_536_000;

interface Asked {
  readonly 'accept-encoding'?: string | string[] | undefined;
  readonly 'if-none-match'?: string | undefined;
}

interface Answer {
  readonly status: 200 | 304;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
}

/**
 * The web console, and the way there for a browser that asks for the server alone. `files` null: none was built, and who asks for it
 * is told so.
 */
export function consoleRoutes(app: App, files: ConsoleFiles | null): void {
  const find = (path: string): ConsoleFile => {
    if (files === null) throw new MusterError('console_not_built');
    const file = files.get(path) ?? (isScreen(path) ? files.get(INDEX) : undefined);
    if (file === undefined) throw new MusterError('route_not_found', { path: `/console/${path.slice(0, ECHOED)}` });
    return file;
  };
  app.get<{ Params: { '*'?: string } }>('/console', FILE_ROUTE, async ({ headers }, reply) => {
    const { status, headers: told, body } = answerOf(find(''), headers);
    return reply.code(status).headers(told).send(body);
  });
  app.get<{ Params: { '*': string } }>('/console/*', FILE_ROUTE, async ({ headers, params }, reply) => {
    const { status, headers: told, body } = answerOf(find(params['*']), headers);
    return reply.code(status).headers(told).send(body);
  });
  app.get('/', FILE_ROUTE, async ({ headers }, reply) => {
    if (files === null || !/\btext\/html\b/.test(headers.accept ?? ''))
      throw new MusterError('route_not_found', { path: '/' });
    return reply.header('vary', 'Accept').redirect('/console/', 302);
  });
}

const ECHOED = 200;

/** The page itself finds out what a screen shows; only files have a dot in the last part of their paths. */
function isScreen(path: string): boolean {
  return !path.slice(path.lastIndexOf('/') + 1).includes('.');
}

function answerOf({ type, bodies, hash, hashed }: ConsoleFile, asked: Asked): Answer {
  const encoding = choose(asked['accept-encoding'], bodies);
  const etag = `"${hash}${encoding === 'identity' ? '' : `-${encoding}`}"`;
  const kept = hashed ? `public, max-age=${YEAR_SECONDS}, immutable` : 'no-cache';
  const headers = { ...HEADERS, etag, 'cache-control': kept };
  if (isKnown(asked['if-none-match'] ?? '', etag)) return { status: 304, headers, body: undefined };
  const encoded = encoding === 'identity' ? {} : { 'content-encoding': encoding };
  return { status: 200, headers: { ...headers, ...encoded, 'content-type': type }, body: bodies.get(encoding) };
}

function isKnown(known: string, etag: string): boolean {
  const tags = known.split(',').map((one) => one.trim().replace(/^W\//, ''));
  return tags.includes(etag) || tags.includes('*');
}

/** The smallest that the browser takes. */
function choose(accepted: Asked['accept-encoding'], bodies: ConsoleFile['bodies']): Encoding {
  const takes = encodingsTaken(accepted);
  return (['br', 'gzip'] as const).find((encoding) => bodies.has(encoding) && takes(encoding)) ?? 'identity';
}
