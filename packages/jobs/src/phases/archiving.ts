import { posix } from 'node:path';
import type { Change } from '../repository/job-store.js';
import { type Files, FileTrouble } from '../systems/types.js';
import { WRAPPER_FILES } from '../systems/wrapper.js';
import { Failed, type Job } from '../types.js';
import type { Phase } from './context.js';
import { ARCHIVE_LIST, below, isReserved } from './paths.js';
import { workPathOf } from './staging-inputs.js';
import { readText, transfer } from './transfer.js';

const CONDITION = 'JOB_ARCHIVING_FAILED';

/** CLEANING_UP: what only its start needed goes. The mark that it was started, and its exit code, stay. */
export const cleanUp: Phase = async (context) => {
  const { job, systems, signal } = context;
  const { connection } = await systems.open(job.orgId, job.systemId);
  for (const name of [WRAPPER_FILES.environment, WRAPPER_FILES.program]) {
    signal.throwIfAborted();
    await connection.files.remove(posix.join(workPathOf(job), name));
  }
  await context.change(isArchived(job) ? { to: 'ARCHIVING' } : endOf(job));
};

/** ARCHIVING: what the program made, to where it is kept. Done again whole after a restart. */
export const archive: Phase = async (context) => {
  const { job, systems, signal, log } = context;
  if (isArchived(job)) {
    const from = await systems.open(job.orgId, job.systemId);
    const to = await systems.open(job.orgId, job.archiveSystem ?? job.systemId);
    const directory = workPathOf(job);
    const target = { files: to.connection.files, path: below(to.system.root, job.archivePath ?? '') };
    const source = { files: from.connection.files, path: directory };
    try {
      const there = await source.files.stat(directory);
      if (there?.type !== 'dir') throw new Failed(CONDITION, `the work directory ${directory} is gone`);
      const leave = await leftOut(source.files, directory);
      const done = await transfer(source, there, target, { signal, condition: CONDITION, leave });
      log.info({ job: job.uuid, ...done }, 'outputs are archived');
    } catch (error) {
      if (!(error instanceof FileTrouble)) throw error;
      throw new Failed(CONDITION, `outputs cannot be archived: ${error.message}`, { cause: error });
    }
  }
  await context.change(endOf(job));
};

/** Outputs of a program that failed are kept when that was asked for (sheet §3.2). */
function isArchived({ archive, remoteOutcome }: Job): boolean {
  return archive && remoteOutcome !== 'FAILED_SKIP_ARCHIVE';
}

/** Inputs, files of the app and of the wrapper; the program may have added lines. A file that is gone leaves out nothing. */
async function leftOut(files: Files, directory: string): Promise<(path: string) => boolean> {
  const list = posix.join(directory, ARCHIVE_LIST);
  const text = (await files.stat(list))?.type === 'file' ? await readText({ files, path: list }, CONDITION) : '';
  const listed = new Set(
    text
      .split('\n')
      .map((line) => posix.normalize(line.trim()).replace(/\/$/, ''))
      .filter((line) => line !== '.'),
  );
  return (path) => listed.has(path) || isReserved(path);
}

/** How a job ends whose program has ended. */
function endOf({ remoteOutcome, remoteCondition, remoteDetail, exitCode }: Job): Change {
  if (remoteOutcome === 'FINISHED') return { to: 'FINISHED' };
  const by = remoteCondition === null ? '' : ` by ${remoteCondition}`;
  const detail = remoteDetail === null || remoteDetail === '' ? '' : ` (${remoteDetail})`;
  return {
    to: 'FAILED',
    condition: remoteCondition ?? 'JOB_REMOTE_OUTCOME_ERROR',
    message: `APPS_USER_APP_FAILURE Failure indicated${by}${detail} with user application return code: ${exitCode ?? 'unknown'}`,
  };
}
