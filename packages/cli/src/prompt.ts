import { createInterface } from 'node:readline';
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
