import { EXIT } from '@muster/base';
import { CommanderError } from 'commander';
import { completionCandidates } from './completion-candidates.js';
import { MusterError } from './errors.js';
import { createProgramFor } from './program.js';
import type { Shell } from './shell.js';
import type { World } from './world.js';

/** Runs one command line (without `node` and the script) and returns its exit code. Nothing is thrown. */
export async function run(argv: readonly string[], world: World): Promise<number> {
  const [first, ...rest] = argv;
  if (first === COMPLETING) {
    for (const candidate of await completionCandidates(rest, world)) world.stdout.write(`${candidate}\n`);
    return EXIT.ok;
  }
  const dashes = argv.indexOf('--');
  const typed = dashes < 0 ? argv : argv.slice(0, dashes);
  const shell: Shell = {
    world,
    typed,
    // Cut off here: the parser would join them to the arguments before `--`.
    words: dashes < 0 ? undefined : argv.slice(dashes + 1),
    exitCode: EXIT.ok,
  };
  try {
    const program = await createProgramFor(shell);
    await program.parseAsync([...typed], { from: 'user' });
    return shell.exitCode;
  } catch (error) {
    return report(error, world);
  }
}

/** What completion scripts ask: which words may stand in the place of the last of those that follow? */
export const COMPLETING = '__complete';

/** `error: what was wrong` and `fix: what to do` on stderr. */
function report(error: unknown, world: World): number {
  if (error instanceof CommanderError) return reportUsage(error, world);
  if (error instanceof MusterError) {
    world.stderr.write(`error: ${error.message}\n`);
    if (error.fix !== '') world.stderr.write(`fix: ${error.fix}\n`);
    return error.exit;
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  world.stderr.write(`error: ${text}\nfix: This is a defect of muster; please report it with the lines above.\n`);
  return EXIT.failed;
}

function reportUsage(error: CommanderError, world: World): number {
  // --help and --version end by an error of exit code 0; their text is written already.
  if (error.exitCode === 0) return EXIT.ok;
  if (error.code !== 'commander.help') {
    world.stderr.write(`${error.message}\nfix: See --help.\n`);
  }
  return EXIT.usage;
}
