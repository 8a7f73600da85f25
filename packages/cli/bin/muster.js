#!/usr/bin/env node
const { existsSync } = require('node:fs');
const { join } = require('node:path');
require('./before.js');

const main = join(__dirname, '../dist/bundle/main.js');
if (!existsSync(main)) {
  console.error('muster: not built yet; run `npm run build` first');
  process.exit(2);
}
require(main);
