#!/usr/bin/env node
const { existsSync } = require('node:fs');
const { join } = require('node:path');
require('./before.js');

const main = join(__dirname, '../dist/bundle/main.js');
if (!existsSync(main)) {
  console.error('muster: not built yet; run `npm run build` first');
  process.exit(2);
}
// Only where it was built: what is installed stays as it is.
const kept = join(__dirname, '../dist/code');
if (existsSync(kept)) require('./load.js').load(main, kept);
else require(main);
