import { existsSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

export const PACKAGES = fileURLToPath(new URL('../packages', import.meta.url));
/** Where the bundle is, and where the single executable behaves as if it were. */
export const BUNDLE = join(PACKAGES, 'cli/dist/bundle');

/** In our own code: what stands beside a file. */
const BESIDE = /new URL\(\s*'(\.[^']+)',\s*import\.meta\.url,?\s*\)/g;
const COMMENTS = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm;

/**
 * A program or a thread becomes a file of the bundle, under a name that tells where it comes from; all else stays where it is, and
 * `onFile` hears of it. Packages of others may not look for files beside their own, except for those that `mayLook` knows.
 */
export function beside({ onFile = () => {}, mayLook = () => false }) {
  return {
    name: 'beside',
    transform(code, id) {
      if (id.startsWith(PACKAGES)) {
        return code.replaceAll(BESIDE, (_, path) => {
          return `new URL('${place(this, resolve(dirname(id), path), onFile)}', import.meta.url)`;
        });
      }
      if (/\b__(?:dirname|filename)\b/.test(code.replaceAll(COMMENTS, '')) && !mayLook(id)) {
        throw new Error(
          `${id} looks for files beside it: say in scripts/bundling.mjs's callers what becomes of its package`,
        );
      }
      return null;
    },
  };
}

function place(context, path, onFile) {
  if (!existsSync(path)) throw new Error(`${path} does not exist`);
  if (!path.endsWith('.js') || !path.includes(`${sep}dist${sep}`)) {
    onFile(path);
    return relative(BUNDLE, path).replaceAll(sep, '/');
  }
  const fileName = relative(PACKAGES, path).replace(`${sep}dist${sep}`, sep).replaceAll(sep, '-');
  context.emitFile({ type: 'chunk', id: path, fileName });
  return `./${fileName}`;
}
