import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deflateRawSync } from 'node:zlib';
import { inject } from 'postject';
import { rolldown } from 'rolldown';
import { BUNDLE, beside, PACKAGES } from '../../bundling.mjs';

/** Packages whose `__dirname` is for what the single executable has otherwise, or never does. */
const LOOK_IN_VAIN = [
  'pino', // threads that write logs: we have none
  'thread-stream',
  'ssh2', // a helper for Windows
  'sodium-native', // its native module: see nativesFromAssets
  '@fastify/swagger', // the name of an application that does not say its own
  '@fastify/swagger-ui', // the files of the page: see served-from-memory.js
];
const SWAGGER_UI = 'node_modules/@fastify/swagger-ui/';
const require = createRequire(import.meta.url);

/**
 * Makes the command line, with agent, server and all else that it starts, one executable: Node.js itself with the bundle, native
 * modules and other files in it as assets.
 *
 * @param {{ node: string, natives: Record<string, string>, work: string, out: string }} options `node`: the executable of Node.js;
 * `natives`: files of the native modules; `work`: a directory for what is made on the way
 * @returns {Promise<string[]>} the modules that are in it
 */
export async function buildSingle({ node, natives, work, out }) {
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  const files = new Map();
  const chunks = await bundled(files);
  for (const { fileName, code } of chunks) {
    const path = join(work, fileName);
    writeFileSync(path, packed(inAscii(code)));
    files.set(`${relative(PACKAGES, BUNDLE)}/${fileName}`, path);
  }
  addBelow(files, 'console/dist', join(PACKAGES, 'console/dist'));
  addBelow(files, 'swagger-ui', join(fileURLToPath(new URL(`../../../${SWAGGER_UI}`, import.meta.url)), 'static'));
  for (const [name, path] of Object.entries(natives)) {
    const copy = join(work, `${name}.node`);
    writeFileSync(copy, packed(readFileSync(path)));
    files.set(`native/${name}.node`, copy);
  }

  const starter = join(work, 'starter.cjs');
  writeFileSync(starter, inAscii(await bundledStarter()));
  files.set('starter.cjs', starter);
  const names = join(work, 'names.json');
  writeFileSync(names, JSON.stringify([...files.keys()].sort()));
  files.set('names.json', names);

  const assets = Object.fromEntries([...files].sort(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(
    join(work, 'sea.json'),
    JSON.stringify({ main: 'starter.cjs', output: 'muster.blob', disableExperimentalSEAWarning: true, assets }),
  );
  execFileSync(process.execPath, ['--experimental-sea-config', 'sea.json'], {
    cwd: work,
    stdio: ['ignore', 'ignore', 'inherit'],
  });

  copyFileSync(node, out);
  await inject(out, 'NODE_SEA_BLOB', readFileSync(join(work, 'muster.blob')), {
    sentinelFuse: 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2',
  });
  return chunks.flatMap(({ moduleIds }) => moduleIds);
}

/** The bundle as CommonJS: of it, Node.js 20 runs nothing else that is not a file. */
async function bundled(files) {
  const bundle = await rolldown({
    input: { main: join(PACKAGES, 'cli/dist/main.js') },
    platform: 'node',
    external: (id) => id.startsWith('native:') || id === 'cpu-features' || id.endsWith('.node'),
    plugins: [
      nativesFromAssets,
      beside({
        onFile: (path) => path.endsWith('.js') || files.set(relative(PACKAGES, path), path),
        mayLook: (id) => LOOK_IN_VAIN.some((name) => id.includes(`/node_modules/${name}/`)),
      }),
    ],
    logLevel: 'warn',
  });
  const { output } = await bundle.generate({
    format: 'cjs',
    entryFileNames: '[name].js',
    chunkFileNames: 'chunk-[name]-[hash].js',
  });
  await bundle.close();
  return output.filter(({ type }) => type === 'chunk');
}

async function bundledStarter() {
  const bundle = await rolldown({
    input: fileURLToPath(new URL('./starter.js', import.meta.url)),
    platform: 'node',
    logLevel: 'warn',
  });
  const { output } = await bundle.generate({ format: 'cjs' });
  await bundle.close();
  return output[0].code;
}

/** In place of what looks for a native module in directories. */
const LOOKS_FOR = {
  bindings: 'better-sqlite3',
  'require-addon': 'sodium-native',
};
const nativesFromAssets = {
  name: 'natives-from-assets',
  resolveId(id, importer) {
    if (id in LOOKS_FOR) return `\0looks-for:${LOOKS_FOR[id]}`;
    if (id === '@fastify/static' && importer?.includes(SWAGGER_UI)) {
      return fileURLToPath(new URL('./served-from-memory.js', import.meta.url));
    }
    return null;
  },
  load(id) {
    if (!id.startsWith('\0looks-for:')) return null;
    return `module.exports = () => require('native:${id.slice('\0looks-for:'.length)}');`;
  },
  transform(_code, id) {
    if (id === require.resolve('zeromq/lib/load-addon.js')) return `module.exports = require('native:zeromq');`;
    return null;
  },
};

function addBelow(files, name, directory) {
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    files.set(`${name}/${relative(directory, path)}`, path);
  }
}

function packed(content) {
  return deflateRawSync(content, { level: 9 });
}

/** In strings, expressions and names the same; comments may look different. */
function inAscii(code) {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all that ASCII is
  return code.replaceAll(/[^\x00-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
