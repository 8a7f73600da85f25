import { EXIT, MusterError } from '@muster/base';
import { CommanderError } from 'commander';
import { createProgram, type KitWorld } from './program.js';

/** Runs one command line (without `node` and the script) and returns its exit code. Nothing is thrown. */
export async function runKit(argv: readonly string[], world: KitWorld): Promise<number> {
  let code: number = EXIT.ok;
  try {
    await createProgram(world, (ended) => {
      code = ended;
    }).parseAsync([...argv], { from: 'user' });
    return code;
  } catch (error) {
    return told(error, world);
  }
}

/** `error: what was wrong` and `fix: what to do`. */
function told(error: unknown, { writeError }: KitWorld): number {
  if (error instanceof CommanderError) {
    // --help ends by an error of exit code 0; its text is written already.
    if (error.exitCode === 0) return EXIT.ok;
    if (error.code !== 'commander.help') writeError(`${error.message}\nfix: See --help.\n`);
    return EXIT.usage;
  }
  if (error instanceof MusterError) {
    writeError(`error: ${error.message}\nfix: ${error.fix}\n`);
    return error.exit;
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  writeError(`error: ${text}\nfix: This is a defect of muster-plugin; please report it with the lines above.\n`);
  return EXIT.failed;
}
