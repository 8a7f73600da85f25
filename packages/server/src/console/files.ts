import { createHash } from 'node:crypto';
import { extname } from 'node:path';
import { readOwnBelow } from '@muster/base/own-parts';

/** How a file may be sent: as it is, or as it was compressed when it was built. */
export type Encoding = 'br' | 'gzip' | 'identity';

export interface ConsoleFile {
  readonly type: string;
  /** By encoding; those that were built. */
  readonly bodies: ReadonlyMap<Encoding, Buffer>;
  /** Strong, of what it says, whatever the encoding. */
  readonly hash: string;
  /** Its name changes with what it says. */
  readonly hashed: boolean;
}

/** By path below the console, such as `assets/main-1a2b3c4d.js`. */
export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>;

export const INDEX = 'index.html';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
};

const VARIANTS: readonly (readonly [string, Encoding])[] = [
  ['.br', 'br'],
  ['.gz', 'gzip'],
];

/**
 * Where the console is built, from this file as from the one that the bundle makes of it: both are as deep. The bundle would look for
 * what stands in `new URL` itself, and there need not be a console when that is made.
 */
const BUILT = '../../../console/dist/';

export function builtConsole(): URL {
  return new URL(BUILT, import.meta.url);
}

/** All of them, read once: nothing that is asked for later leads to the disk. Null: no console was built there. */
export function readConsole(directory: URL): ConsoleFiles | null {
  const built = readOwnBelow(directory);
  if (!built?.has(INDEX)) return null;
  const files = new Map<string, ConsoleFile>();
  for (const [path, body] of built) {
    const type = TYPES[extname(path)];
    // Compressed ones, and whatever no page needs.
    if (type === undefined) continue;
    const bodies = new Map<Encoding, Buffer>([['identity', body]]);
    for (const [ending, encoding] of VARIANTS) {
      const encoded = built.get(path + ending);
      if (encoded !== undefined) bodies.set(encoding, encoded);
    }
    const hash = createHash('sha256').update(body).digest('base64url').slice(0, 27);
    files.set(path, { type, bodies, hash, hashed: path.startsWith('assets/') });
  }
  return files;
}
