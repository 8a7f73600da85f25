#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';

// An agent is a guest on its machine. Loading its modules would make V8's young generation grow to 32 MiB, and it never
// shrinks again in a process that is idle; before anything is loaded it can still be kept small.
if (process.argv[2] === 'agent') setFlagsFromString('--semi-space-growth-factor=1');

const main = new URL('../dist/bundle/main.js', import.meta.url);
if (!existsSync(main)) {
  console.error('muster: not built yet; run `npm run build` first');
  process.exit(2);
}
await import(main.href);
