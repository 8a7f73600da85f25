import { posix } from 'node:path';
import { MusterError } from '../errors.js';
import { below } from '../phases/paths.js';
import {
  type FileEntry,
  type FileProblem,
  type Files,
  FileTrouble,
  type Systems,
  SystemTrouble,
} from '../systems/types.js';
import { Blocked, Failed, type Job } from '../types.js';

/** Where the outputs of a job are. */
interface Place {
  readonly system: string;
  readonly files: Files;
  /** Absolute. */
  readonly root: string;
}

export interface Outputs {
  readonly place: Place;
  /** Below the root, without a slash at its beginning or end. */
  readonly path: string;
  readonly entry: FileEntry;
}

/** Its outputs are whole in its archive: it ended by itself, and what was to be archived was. */
export function isArchived(job: Job): boolean {
  const { archive, archivePath, status, remoteOutcome, remoteCondition, condition } = job;
  if (!archive || archivePath === null) return false;
  if (status === 'FINISHED') return remoteOutcome !== 'FAILED_SKIP_ARCHIVE';
  // Else it failed before that, or in it.
  return (
    status === 'FAILED' && remoteOutcome === 'FAILED' && condition === (remoteCondition ?? 'JOB_REMOTE_OUTCOME_ERROR')
  );
}

/**
 * What clients write: without `/` before it, `..`, `//` and `~` (sheet §8.6); so it never leads out of the job's folder.
 */
export function cleanPath(path: string): string {
  const parts = path.split('/').map((part) => part.replace(/^~+/, ''));
  return parts.filter((part) => part !== '' && part !== '.' && part !== '..').join('/');
}

const MOST_PATH = 4096;
const MOST_PATH_SHOWN = 200;

/**
 * Finds a file or directory among the outputs of a job.
 * @throws MusterError `job_output_not_found`, `job_output_unavailable`
 */
export async function findOutput(systems: Pick<Systems, 'open'>, job: Job, asked: string): Promise<Outputs> {
  const path = cleanPath(asked);
  const missing = () => noOutput(job, path);
  if (path.length > MOST_PATH || path.includes('\0')) throw missing();
  const name = isArchived(job) ? job.archiveSystem : job.systemId;
  if (name === null || (!isArchived(job) && job.workPath === null)) throw missing();
  return told(job, name, path, async () => {
    const { system, connection } = await systems.open(job.orgId, name);
    const root = isArchived(job) ? below(system.root, job.archivePath ?? '') : (job.workPath ?? '');
    const { files } = connection;
    const entry = await files.stat(path === '' ? root : posix.join(root, path));
    if (entry === null) throw missing();
    return { place: { system: name, files, root }, path, entry };
  });
}

export interface Listed {
  /** Below the root of the outputs. */
  readonly path: string;
  readonly entry: FileEntry;
}

/** What is in a directory, or the file itself. @throws as `findOutput` */
export async function listOutput(
  job: Job,
  { place, path, entry }: Outputs,
  page: { readonly limit: number; readonly offset: number },
): Promise<readonly Listed[]> {
  if (entry.type !== 'dir') return page.offset === 0 && page.limit > 0 ? [{ path, entry }] : [];
  const entries = await told(job, place.system, path, () => place.files.list(absolute({ place, path }), page));
  return (entries ?? []).map((one) => ({ path: path === '' ? one.name : `${path}/${one.name}`, entry: one }));
}

/** Bytes of a file; `end` is not among them. @throws as `findOutput` */
export function readOutput(job: Job, output: Outputs, range: { readonly start: number; readonly end: number }) {
  return told(job, output.place.system, output.path, () => output.place.files.read(absolute(output), range));
}

function absolute({ place, path }: Pick<Outputs, 'place' | 'path'>): string {
  return path === '' ? place.root : posix.join(place.root, path);
}

/** Why something that is there is no output. */
const WHY: Readonly<Record<FileProblem, string>> = {
  NOT_FOUND: '',
  NOT_PERMITTED: ': the account of its system may not read it',
  NOT_A_DIRECTORY: ': something on the way to it is no folder',
  NOT_A_FILE: ': it is no file',
  NAME_TOO_LONG: ': its name is too long',
  WRONG_SIZE: ': it has changed meanwhile',
  INVALID_PATH: ': what it names leads out of the root of its system, and is not followed',
};

/** @param why How the sentence goes on. */
export function noOutput({ uuid }: Job, path: string, why = ''): MusterError {
  return new MusterError('job_output_not_found', { job: uuid, path: `/${path}`.slice(0, MOST_PATH_SHOWN), why });
}

async function told<T>(job: Job, system: string, path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof FileTrouble) throw noOutput(job, path, WHY[error.problem]);
    if (!(error instanceof SystemTrouble || error instanceof Blocked || error instanceof Failed)) throw error;
    throw new MusterError('job_output_unavailable', { job: job.uuid, system, reason: error.message }, { cause: error });
  }
}
