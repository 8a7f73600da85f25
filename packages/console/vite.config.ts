import { defineConfig } from 'vite';

/** Everything that is named in the page is built under `assets` with a hash in its name; nothing comes from another host. */
export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  publicDir: false,
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2022',
    // Chosen by the policy of the page: no data: scripts, no inline styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // One style for all screens: a screen that is fetched later has its own.
    cssCodeSplit: false,
    reportCompressedSize: false,
  },
  // It imports what it needs, as the page does.
  worker: { format: 'es' },
  // As tsconfig.json says it; the build reads no other settings.
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  logLevel: 'warn',
});
