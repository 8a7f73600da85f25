import { existsSync, rmSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

/**
 * Puts what `tsc` has built into few files, in `packages/cli/dist/bundle`: Node.js takes longer to load a thousand small files than
 * most commands take to do their work.
 */
const PACKAGES = fileURLToPath(new URL('../packages', import.meta.url));
const OUT = join(PACKAGES, 'cli/dist/bundle');
/** Packages that look for native modules or other files beside their own. */
const OUTSIDE = [
  'better-sqlite3',
  'zeromq',
  'sodium-native',
  'ssh2',
  'pino',
  '@fastify/swagger',
  '@fastify/swagger-ui',
];

/** In our own code: what stands beside a file. */
const BESIDE = /new URL\(\s*'(\.[^']+)',\s*import\.meta\.url,?\s*\)/g;
const COMMENTS = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm;

const beside = {
  name: 'beside',
  transform(code, id) {
    if (id.startsWith(PACKAGES)) {
      return code.replaceAll(BESIDE, (_, path) => {
        return `new URL('${place(this, resolve(dirname(id), path))}', import.meta.url)`;
      });
    }
    if (/\b__(?:dirname|filename)\b/.test(code.replaceAll(COMMENTS, ''))) {
      throw new Error(`${id} looks for files beside it: its package belongs to OUTSIDE in scripts/bundle.mjs`);
    }
    return null;
  },
};

/** A program or a thread becomes a file of the bundle, under a name that tells where it comes from; all else stays where it is. */
function place(context, path) {
  if (!existsSync(path)) throw new Error(`${path} does not exist`);
  if (!path.endsWith('.js') || !path.includes(`${sep}dist${sep}`)) return relative(OUT, path).replaceAll(sep, '/');
  const fileName = relative(PACKAGES, path).replace(`${sep}dist${sep}`, sep).replaceAll(sep, '-');
  context.emitFile({ type: 'chunk', id: path, fileName });
  return `./${fileName}`;
}

rmSync(OUT, { recursive: true, force: true });
const bundle = await rolldown({
  input: { main: join(PACKAGES, 'cli/dist/main.js') },
  platform: 'node',
  external: (id) => OUTSIDE.some((name) => id === name || id.startsWith(`${name}/`)),
  plugins: [beside],
  logLevel: 'warn',
});
await bundle.write({ dir: OUT, format: 'esm', entryFileNames: '[name].js', chunkFileNames: 'chunk-[name]-[hash].js' });
await bundle.close();
