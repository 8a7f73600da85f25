import { posix } from 'node:path';
import { type FileEntry, FileTrouble, type OpenSystem } from '../systems/types.js';
import { Failed, type Job } from '../types.js';
import { appOf } from './app.js';
import type { Phase, PhaseContext } from './context.js';
import { type StagedInput, stagedInputs } from './inputs.js';
import { below } from './paths.js';
import { systemOf } from './places.js';
import { transfer } from './transfer.js';

const CONDITION = 'JOB_UNABLE_TO_STAGE_INPUTS';
/** Of files from the web. */
const FILE_MODE = 0o600;
const DIRECTORY_MODE = 0o700;

/** PROCESSING_INPUTS: where its inputs are, whether they are there, and the directory in which it works. */
export const processInputs: Phase = async (context) => {
  const app = await appOf(context);
  const inputs = stagedInputs(context.job, app);
  for (const input of inputs) {
    if (input.source.kind !== 'web') await entryOf(context, input, app.deployment?.system ?? null);
  }
  const { job, systems } = context;
  const { connection } = await systems.open(job.orgId, job.systemId);
  await connection.files.makeDirectory(workPathOf(job), DIRECTORY_MODE);
  await context.change({ to: inputs.length > 0 ? 'STAGING_INPUTS' : 'STAGING_JOB' });
};

/** STAGING_INPUTS: into the work directory. What an earlier attempt brought there whole is not brought again. */
export const stageInputs: Phase = async (context) => {
  const { job, systems, signal } = context;
  const app = await appOf(context);
  const target = await systems.open(job.orgId, job.systemId);
  let bytes = 0;
  for (const input of stagedInputs(job, app)) {
    signal.throwIfAborted();
    const path = posix.join(workPathOf(job), input.name);
    try {
      bytes += await stageOne(context, input, target, path, app.deployment?.system ?? null);
    } catch (error) {
      throw explained(error, input);
    }
  }
  context.log.info({ job: job.uuid, bytes }, 'inputs are staged');
  await context.change({ to: 'STAGED' });
};

/** STAGED: nothing more to do. */
export const staged: Phase = (context) => context.change({ to: 'STAGING_JOB' });

export function workPathOf({ uuid, workPath }: Pick<Job, 'uuid' | 'workPath'>): string {
  if (workPath === null) throw new Error(`job ${uuid} has no work directory, and should have one by now`);
  return workPath;
}

async function stageOne(
  context: PhaseContext,
  input: StagedInput,
  { connection: { files } }: OpenSystem,
  path: string,
  otherwise: string | null,
): Promise<number> {
  const { signal, web } = context;
  const { source } = input;
  if (source.kind !== 'web') {
    const { from, entry, at } = await entryOf(context, input, otherwise);
    const to = { files, path };
    const options = { signal, condition: CONDITION, keepSame: true };
    return (await transfer({ files: from.connection.files, path: at }, entry, to, options)).bytes;
  }
  const first = await web.open(source.url, 0, signal);
  const { size } = first;
  const there = size === null ? null : await files.stat(path);
  if (there?.type === 'file' && there.length === size) {
    first.body.destroy();
    return size;
  }
  const bytes = async (start: number) => {
    if (start === 0) return first.body;
    first.body.destroy();
    return (await web.open(source.url, start, signal)).body;
  };
  return files.write(path, bytes, { mode: FILE_MODE, signal, ...(size !== null && { size }) });
}

async function entryOf(
  { job, places, systems }: PhaseContext,
  input: StagedInput,
  otherwise: string | null,
): Promise<{ readonly from: OpenSystem; readonly entry: FileEntry; readonly at: string }> {
  const { source, value } = input;
  if (source.kind === 'web') throw new Error('files of the web are of no system');
  const name = await systemOf(places, job, source, otherwise);
  const from = await systems.open(job.orgId, name).catch((error: unknown) => {
    throw explained(error, input);
  });
  const at = below(from.system.root, source.path);
  const entry = await from.connection.files.stat(at);
  if (entry?.type === 'file' || entry?.type === 'dir') return { from, entry, at };
  const what = entry === null ? 'is not there' : 'is neither a file nor a directory';
  throw new Failed(CONDITION, `the input '${value}' ${what}`);
}

/** What is wrong with a file of somebody, or its system, is told with the value that led there. */
function explained(error: unknown, { id, value }: StagedInput): unknown {
  const ofSystem = error instanceof Failed && error.condition !== CONDITION;
  if (!(error instanceof FileTrouble || ofSystem)) return error;
  return new Failed(CONDITION, `the input ${id}, '${value}', cannot be staged: ${error.message}`, { cause: error });
}
