import { execFileSync } from 'node:child_process';
import { existsSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * Compiles what starts an agent's commands (`packages/agent/native`). It is linked statically, so that it runs on every Linux of this
 * processor, and each of its forks copies less. Where that cannot be done, as without a compiler or elsewhere than on Linux, an empty
 * file takes its place, and agents start their commands themselves.
 */
const SOURCE = fileURLToPath(new URL('../packages/agent/native/muster-forker.c', import.meta.url));
const PROGRAM = fileURLToPath(new URL('../packages/agent/dist/muster-forker', import.meta.url));
const FLAGS = ['-std=gnu17', '-O2', '-Wall', '-Wextra', '-static', '-s', '-Wl,--build-id=none'];

const built = existsSync(PROGRAM) && statSync(PROGRAM).size > 0 && statSync(PROGRAM).mtimeMs > statSync(SOURCE).mtimeMs;
if (!built) {
  try {
    if (process.platform !== 'linux') throw new Error('there is no Linux here');
    execFileSync('cc', [...FLAGS, '-o', `${PROGRAM}.new`, SOURCE], { stdio: ['ignore', 'inherit', 'inherit'] });
    renameSync(`${PROGRAM}.new`, PROGRAM);
  } catch (error) {
    rmSync(PROGRAM, { force: true });
    writeFileSync(PROGRAM, '');
    console.error(
      `muster-forker was not built (${error.message}): agents will start commands by themselves, slower. Debian: gcc, libc6-dev`,
    );
  }
}
