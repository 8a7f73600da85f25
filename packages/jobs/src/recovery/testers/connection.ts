import { posix } from 'node:path';
import { Readable } from 'node:stream';
import { type OpenSystem, SystemTrouble, type TroubleKind } from '../../systems/types.js';
import { Failed } from '../../types.js';
import type { Answer } from '../machine.js';
import { blocked, clear, hopeless } from './answers.js';
import type { Tested, TesterDeps } from './types.js';

/** Troubles before which a connection does not stand. */
const UNREACHED: readonly TroubleKind[] = ['SYSTEM_NOT_AVAILABLE', 'CONNECTION_FAILURE', 'CONNECTION_TIMEOUT'];

/** Opens the system `systemId` and looks for its root. @param passes Troubles that are not those which are tested for. */
async function reached(
  { orgId, parameters: { systemId = '' } }: Tested,
  { systems }: TesterDeps,
  passes: (kind: TroubleKind) => boolean,
  use: (system: OpenSystem) => Promise<unknown> = ({ connection, system }) => connection.files.stat(system.root),
): Promise<Answer> {
  try {
    await use(await systems.open(orgId, systemId));
    return clear(`${systemId} answers`);
  } catch (error) {
    if (error instanceof Failed) return hopeless(error.message);
    // What stands in the way now is another thing: the jobs find out, and wait for that.
    if (error instanceof SystemTrouble && passes(error.kind)) return clear(`${systemId} is reached: ${error.message}`);
    return blocked(error instanceof Error ? error.message : String(error));
  }
}

/** The system can be reached, whatever it says then. */
export const connection = {
  types: ['DEFAULT_CONNECTION_TESTER', 'DEFAULT_CONNECTION_TIMEOUT_TESTER'],
  test: (tested: Tested, deps: TesterDeps) => reached(tested, deps, (kind) => !UNREACHED.includes(kind)),
};

/** A login succeeds, and what can be done there is done: read, and ended. */
export const login = {
  types: [
    'DEFAULT_AUTHENTICATION_TESTER',
    'DEFAULT_FIRST_AUTHENTICATION_TESTER',
    'DEFAULT_HOST_KEY_TESTER',
    'DEFAULT_TRANSMISSION_TESTER',
    'DEFAULT_SCHEDULER_TESTER',
    'DEFAULT_REMOTE_END_TESTER',
  ],
  test: (tested: Tested, deps: TesterDeps) => reached(tested, deps, () => false),
};

const PROBE_BYTES = 1024 * 1024;

/** A mebibyte can be written where jobs work, also when none has worked there yet; what is tested with is removed. */
export const disk = {
  types: ['DEFAULT_DISK_TESTER'],
  test: (tested: Tested, deps: TesterDeps) => reached(tested, deps, (kind) => kind !== 'DISK_FULL', probe),
};

async function probe({ connection: { files }, system }: OpenSystem): Promise<void> {
  const directory = posix.join(system.root, system.scratch);
  const path = posix.join(directory, '.muster-probe');
  try {
    await files.makeDirectory(directory);
    await files.write(path, () => Readable.from([Buffer.alloc(PROBE_BYTES)]), {});
  } finally {
    await files.remove(path);
  }
}
