import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { MusterError } from './errors.js';
import { MAX_PASSWORD_CHARACTERS } from './limits.js';
import type { World } from './world.js';

/** Can a question be asked and answered here? */
export function isInteractive(world: World): boolean {
  return world.stdin.isTTY === true && world.stderr.isTTY === true;
}

/**
 * Asks a yes/no question on stderr; anything but y or yes is no. `cancelled` ends the question early with `no`.
 * `terminal: false` leaves Ctrl-C to the process, whose handlers know what it means just now.
 */
export async function confirm(world: World, question: string, cancelled?: AbortSignal): Promise<boolean> {
  world.stderr.write(`${question} [y/N] `);
  const lines = createInterface({ input: world.stdin, terminal: false });
  try {
    return await new Promise<boolean>((resolve) => {
      lines.once('line', (line) => resolve(/^\s*y(es)?\s*$/i.test(line)));
      lines.once('close', () => resolve(false));
      cancelled?.addEventListener('abort', () => resolve(false), { once: true });
    });
  } finally {
    lines.close();
    world.stdin.pause();
  }
}

/**
 * A password that is not shown while it is typed; without a terminal the first line of standard input. '': there is none.
 * @throws MusterError `usage` when it is too long
 */
export async function hidden(world: World, question: string): Promise<string> {
  const [line = ''] = await hiddenLines(world, question);
  if (line.length <= MAX_PASSWORD_CHARACTERS) return line;
  throw new MusterError('usage', { reason: `a password has at most ${MAX_PASSWORD_CHARACTERS} characters` });
}

/** The first line, as `hidden`, and those that came at once with it, as something was pasted. None: there is none. */
export async function hiddenLines(world: World, question: string): Promise<readonly string[]> {
  const terminal = isInteractive(world);
  const nowhere = new Writable({ write: (_piece, _encoding, done) => done() });
  // As a terminal it is raw: nothing of what is typed is shown but by what writes to `output`, which is nowhere.
  const lines = createInterface({ input: world.stdin, output: nowhere, terminal, historySize: 0 });
  // Not before: what is typed at once is not shown either.
  if (terminal) world.stderr.write(question);
  try {
    const came: string[] = [];
    await new Promise<void>((resolve) => {
      lines.on('line', (line) => {
        came.push(line);
        resolve();
      });
      lines.once('close', resolve);
      lines.once('SIGINT', () => resolve());
    });
    return came.length === 0 || lines.line === '' ? came : [...came, lines.line];
  } finally {
    lines.close();
    world.stdin.pause();
    if (terminal) world.stderr.write('\n');
  }
}
