import { execFileSync } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';

const LOAD = fileURLToPath(new URL('../bin/load.js', import.meta.url));

let dir: string;

/** A program of three files, two of which need each other, and one of which comes later. */
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'muster-load-'));
  for (const name of ['bundle', 'code']) mkdirSync(join(dir, name));
  const write = (name: string, text: string) => writeFileSync(join(dir, 'bundle', name), text);
  write('package.json', '{ "type": "commonjs" }');
  write(
    'main.js',
    `const { twice } = require('./twice.js');
     exports.number = 21;
     const late = () => Promise.resolve().then(() => require('./late.js'));
     late().then(({ text }) => console.log(twice(), text, this === exports, require('node:path').basename(__filename)));
`,
  );
  write('twice.js', `const main = require('./main.js'); exports.twice = () => 2 * main.number;`);
  write('late.js', `exports.text = 'late';`);
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const run = (...flags: string[]): string => {
  const program = `require(${JSON.stringify(LOAD)}).load(${JSON.stringify(join(dir, 'bundle/main.js'))}, ${JSON.stringify(join(dir, 'code'))})`;
  return execFileSync(process.execPath, [...flags, '-e', program], { encoding: 'utf8' });
};
const SAID = '42 late true main.js\n';
const kept = () => readdirSync(join(dir, 'code')).map((version) => readdirSync(join(dir, 'code', version)).sort());
const says = (text: string) => expect(text).toBe(SAID);

test('a program does what it does when Node.js loads it, the first time and with what was kept of it', () => {
  says(execFileSync(process.execPath, [join(dir, 'bundle/main.js')], { encoding: 'utf8' }));
  says(run());
  expect(kept()).toEqual([['late.js', 'main.js', 'twice.js']]);
  says(run());
  expect(kept()).toEqual([['late.js', 'main.js', 'twice.js']]);
});

test('other flags of V8 have their own', () => {
  run();
  says(run('--no-opt'));
  expect(kept()).toEqual(Array(2).fill(['late.js', 'main.js', 'twice.js']));
});

test('what is kept and does not fit is made anew', () => {
  run();
  const [version = ''] = readdirSync(join(dir, 'code'));
  const file = join(dir, 'code', version, 'main.js');
  const right = readFileSync(file).length;
  for (const wrong of ['', 'nothing of V8', readFileSync(file).subarray(0, 100)]) {
    writeFileSync(file, wrong);
    says(run());
    expect(readFileSync(file).length).toBeGreaterThan(right / 2);
  }
});

test('a program that was changed is the changed one', () => {
  run();
  writeFileSync(join(dir, 'bundle/twice.js'), `exports.twice = () => 'changed, and longer than it was';`);
  expect(run()).toContain('changed, and longer than it was late');
});

test.runIf(process.getuid?.() === 0)('root leaves nothing in the directory of somebody else', () => {
  chownSync(join(dir, 'code'), 12345, 12345);
  says(run());
  expect(kept()).toEqual([]);
});

test('without a place to keep anything it runs all the same', () => {
  rmSync(join(dir, 'code'), { recursive: true });
  says(run());
});
