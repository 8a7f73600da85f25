import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build } from 'vite';

/** Builds the web console into `packages/console/dist`, and lays beside each file what browsers are given instead of it. */
const CONSOLE = fileURLToPath(new URL('../packages/console', import.meta.url));

await build({ configFile: join(CONSOLE, 'vite.config.ts') });
for (const file of readdirSync(join(CONSOLE, 'dist'), { recursive: true, withFileTypes: true })) {
  if (!file.isFile()) continue;
  const path = join(file.parentPath, file.name);
  const bytes = readFileSync(path);
  const text = { params: { [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT } };
  writeFileSync(`${path}.br`, brotliCompressSync(bytes, text));
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
}
