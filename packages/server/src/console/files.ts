import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

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

export function builtConsole(): string {
  return fileURLToPath(new URL(BUILT, import.meta.url));
}

/** All of them, read once: nothing that is asked for later leads to the disk. Null: no console was built there. */
export function readConsole(directory: string): ConsoleFiles | null {
  if (!existsSync(join(directory, INDEX))) return null;
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  const paths = new Set(
    entries
      .filter((one) => one.isFile())
      .map((one) => join(one.parentPath, one.name).slice(join(directory, sep).length)),
  );
  const files = new Map<string, ConsoleFile>();
  for (const path of paths) {
    const type = TYPES[extname(path)];
    // Compressed ones, and whatever no page needs.
    if (type === undefined) continue;
    const body = readFileSync(join(directory, path));
    const bodies = new Map<Encoding, Buffer>([['identity', body]]);
    for (const [ending, encoding] of VARIANTS) {
      if (paths.has(path + ending)) bodies.set(encoding, readFileSync(join(directory, path + ending)));
    }
    const name = path.replaceAll(sep, '/');
    const hash = createHash('sha256').update(body).digest('base64url').slice(0, 27);
    files.set(name, { type, bodies, hash, hashed: name.startsWith('assets/') });
  }
  return files;
}
