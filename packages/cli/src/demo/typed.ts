import { EXIT } from '@muster/base';
import { MusterError } from '../errors.js';
import type { Call } from '../shell.js';
import type { World } from '../world.js';

/** Runs a command line of `muster` in this process and returns its exit code; throws what the command throws. */
export type RunWords = (words: readonly string[], world: World) => Promise<number>;

/** Where the commands of the demo are typed. */
export interface DemoPlace {
  readonly directory: string;
  /** Settings of the CLI, as the demo's first admin. */
  readonly config: string;
  readonly run: RunWords;
}

/** A command as a person types it in the demo's directory: shown with its output, as it is. With `--json` nothing is shown. */
export async function typed(call: Call<object>, place: DemoPlace, words: readonly string[]): Promise<void> {
  const { out, world } = call;
  out.line(out.paint(`$ muster ${words.map(quoted).join(' ')}`, 'dim'));
  await run(place, words, { ...world, stdout: out.json ? SILENT : world.stdout });
}

/** The same, of which nothing is shown. */
export async function unseen({ world }: Call<object>, place: DemoPlace, words: readonly string[]): Promise<void> {
  await run(place, words, { ...world, stdout: SILENT, stderr: SILENT });
}

async function run(place: DemoPlace, words: readonly string[], world: World): Promise<void> {
  const inside: World = {
    ...world,
    // Settings of the caller's own server must not reach the demo's.
    env: { ...withoutSettings(world.env), MUSTER_CONFIG: place.config },
    cwd: place.directory,
    // Ctrl-C means the whole demo.
    onSignal: () => () => {},
  };
  const code = await place.run(words, inside);
  // What waits for others to agree is shown, too.
  const done = code === EXIT.ok || code === EXIT.asked;
  if (!done) throw new MusterError('demo_failed', { reason: `\`muster ${words.join(' ')}\` ended with ${code}` });
}

const SILENT = { write: () => true };

function withoutSettings(env: World['env']): World['env'] {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('MUSTER_')));
}

/** For a shell. */
function quoted(word: string): string {
  return /[^\w./:=-]/.test(word) ? `'${word}'` : word;
}
