import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Trial } from '@muster/plugin/kit';

const BIN = fileURLToPath(new URL('../../bin/muster-plugin.js', import.meta.url));

/** Runs the command as a person does. */
export async function kit(args: readonly string[], stdin = '') {
  const child = spawn(process.execPath, [BIN, ...args], { stdio: 'pipe' });
  child.stdin.end(stdin);
  const code = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await code, stdout, stderr };
}

/** The same, with what it shows as JSON. */
export async function trial(...args: readonly string[]): Promise<Trial> {
  const { stdout, stderr } = await kit(['run', '--json', ...args]);
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as Trial;
}
