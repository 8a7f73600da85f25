import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { BUNDLE, beside, PACKAGES } from './bundling.mjs';

/**
 * Puts what `tsc` has built into few files, in `packages/cli/dist/bundle`: Node.js takes longer to load a thousand small files than
 * most commands take to do their work.
 */
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

/** What V8 has kept of a file (packages/cli/bin/load.js) cannot `import()`; it can `require` what would be imported from outside. */
const required = {
  name: 'required',
  renderChunk: (code) =>
    code.replaceAll(/\bimport\("([^".][^"]*)"\)/g, (whole, name) =>
      OUTSIDE.includes(name) ? `Promise.resolve().then(() => require("${name}"))` : whole,
    ),
};

rmSync(BUNDLE, { recursive: true, force: true });
const bundle = await rolldown({
  input: { main: join(PACKAGES, 'cli/dist/main.js') },
  platform: 'node',
  external: (id) => OUTSIDE.some((name) => id === name || id.startsWith(`${name}/`)),
  plugins: [beside({}), required],
  logLevel: 'warn',
});
await bundle.write({
  dir: BUNDLE,
  // Node.js loads modules of its other kind a fifth slower.
  format: 'cjs',
  entryFileNames: '[name].js',
  chunkFileNames: 'chunk-[name]-[hash].js',
  // Node.js reads and keeps what has other characters at twice the cost.
  minify: { compress: false, mangle: false, codegen: { asciiOnly: true, removeWhitespace: false } },
});
await bundle.close();
writeFileSync(join(BUNDLE, 'package.json'), '{ "type": "commonjs" }\n');

// Programs keep here what V8 makes of the bundle, until the next one (packages/cli/bin/load.js).
const CODE = join(PACKAGES, 'cli/dist/code');
rmSync(CODE, { recursive: true, force: true });
mkdirSync(CODE);
