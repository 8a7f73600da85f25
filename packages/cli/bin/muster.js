#!/usr/bin/env node
import { existsSync } from 'node:fs';
import './before.js';

const main = new URL('../dist/bundle/main.js', import.meta.url);
if (!existsSync(main)) {
  console.error('muster: not built yet; run `npm run build` first');
  process.exit(2);
}
await import(main.href);
