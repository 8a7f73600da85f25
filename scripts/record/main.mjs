/**
 * npm run record: docs/terminal.svg, what a person sees of a real run: the demo's server and five agents, and these commands.
 * Takes `script` (Debian: bsdutils), which gives each command a terminal and says what it wrote when.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Screen } from './screen.mjs';
import { film } from './svg.mjs';

const MUSTER = new URL('../../packages/cli/bin/muster.js', import.meta.url).pathname;
const OUT = new URL('../../docs/terminal.svg', import.meta.url).pathname;
const COLUMNS = 120;
const ROWS = 20;
/** How long a result stands before the next command. */
const READ_MS = 3500;
/** Two keys. */
const KEYS_MS = 90;

const dir = mkdtempSync(join(tmpdir(), 'muster-record-'));
const kept = execFileSync(MUSTER, ['demo', '--keep'], { encoding: 'utf8' });
const config = / MUSTER_CONFIG=(\S+)/.exec(kept)?.[1];
const stop = /\bsh (\S+stop\.sh)/.exec(kept)?.[1];
if (config === undefined || stop === undefined) throw new Error(`the demo does not say where it runs:\n${kept}`);

try {
  const frames = [];
  let at = 0;
  for (const command of [
    'muster node list',
    "muster push start 'role:web' -- uname -a",
    "muster push start --dry-run '*' -- check-disk",
    "muster push start --available '*' -- check-disk",
    'muster push results LATEST',
    'muster queue list',
  ]) {
    at =
      (await scene(
        frames,
        at,
        command.replace('LATEST', () => latest()),
      )) + READ_MS;
  }
  writeFileSync(OUT, film(frames, { columns: COLUMNS, rows: ROWS, endMs: at }));
  console.log(OUT);
} finally {
  execFileSync('sh', [stop]);
  rmSync(dir, { recursive: true });
}

/** Types a command on an empty screen and runs it. */
async function scene(frames, begun, command) {
  const screen = new Screen(COLUMNS, ROWS);
  let at = begun;
  await screen.write('\x1b[1;32m$\x1b[0m ');
  for (const keys of command.match(/.{1,2}/g)) {
    await screen.write(keys);
    at += KEYS_MS;
    frames.push({ at, lines: screen.lines() });
  }
  await screen.write('\r\n');
  for (const { afterMs, bytes } of run(command)) {
    await screen.write(bytes);
    at += afterMs;
    frames.push({ at, lines: screen.lines() });
  }
  return at;
}

/** What it wrote to a terminal, and how long after what was before. */
function run(command) {
  const [log, timing] = [join(dir, 'log'), join(dir, 'timing')];
  const line = command.replace(/^muster/, MUSTER);
  const env = { ...process.env, MUSTER_CONFIG: config, COLUMNS: String(COLUMNS) };
  spawnSync(
    'script',
    ['-q', '-e', '-O', log, `--log-timing=${timing}`, '-c', `stty cols ${COLUMNS} rows ${ROWS}; ${line}`],
    { env },
  );
  const all = readFileSync(log);
  let from = all.indexOf('\n') + 1;
  return readFileSync(timing, 'utf8')
    .trim()
    .split('\n')
    .map((entry) => {
      const [seconds, count] = entry.split(' ').map(Number);
      const bytes = all.subarray(from, from + count);
      from += count;
      return { afterMs: seconds * 1000, bytes };
    });
}

/** The push job that was started last. */
function latest() {
  const env = { ...process.env, MUSTER_CONFIG: config };
  return JSON.parse(execFileSync(MUSTER, ['push', 'list', '--limit', '1', '--json'], { env, encoding: 'utf8' }))[0].id;
}
