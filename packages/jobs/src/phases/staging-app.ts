import { posix } from 'node:path';
import { Readable } from 'node:stream';
import type { App } from '../apps/types.js';
import { type Files, FileTrouble, type OpenSystem } from '../systems/types.js';
import { environmentText, WRAPPER, WRAPPER_FILES } from '../systems/wrapper.js';
import { Failed, type Job } from '../types.js';
import { appOf } from './app.js';
import type { Phase, PhaseContext } from './context.js';
import { stagedInputs } from './inputs.js';
import { ARCHIVE_LIST, below } from './paths.js';
import { programText, programVariables } from './program.js';
import { workPathOf } from './staging-inputs.js';
import { readText, transfer } from './transfer.js';
import { argumentValues } from './values.js';

const CONDITION = 'JOB_UNABLE_TO_STAGE_JOB';
const PROGRAM_MODE = 0o700;
const TEXT_MODE = 0o600;

/**
 * STAGING_JOB: the files of the app, its program and what starts it. All of it is written again, whatever an earlier attempt
 * left.
 */
export const stageApp: Phase = async (context) => {
  const { job, systems } = context;
  const app = await appOf(context);
  const { connection } = await systems.open(job.orgId, job.systemId);
  const { files } = connection;
  const directory = workPathOf(job);
  try {
    await files.makeDirectory(directory, PROGRAM_MODE);
    const deployment = await deploymentOf(context, app);
    const assets = await stageDeployment(context, deployment, files, app);
    const inputs = stagedInputs(job, app);
    const values = argumentValues(app, job, inputs);
    const text = (name: string, content: string, mode: number): Promise<number> =>
      writeText(files, posix.join(directory, name), content, mode, context.signal);
    await text(WRAPPER_FILES.program, programText(app, await templateOf(app, deployment), job, values), PROGRAM_MODE);
    await text(WRAPPER_FILES.environment, environmentText(programVariables(job, values)), TEXT_MODE);
    await text(WRAPPER_FILES.wrapper, WRAPPER, PROGRAM_MODE);
    const staged = [...inputs.map(({ name }) => name), ...assets];
    await text(ARCHIVE_LIST, staged.map((name) => `${name}\n`).join(''), TEXT_MODE);
  } catch (error) {
    throw explained(error, job);
  }
  await context.change({ to: 'SUBMITTING' });
};

interface Deployment {
  readonly from: OpenSystem;
  readonly path: string;
}

async function deploymentOf({ job, places, systems }: PhaseContext, app: App): Promise<Deployment | null> {
  if (app.deployment === null) return null;
  const name = app.deployment.system ?? (await places.defaultSystem(job.orgId));
  if (name === null) {
    throw new Failed(CONDITION, `the app ${app.id} names no system for its files, and there is no default one`);
  }
  const from = await systems.open(job.orgId, name);
  return { from, path: below(from.system.root, app.deployment.path) };
}

/** Names of what is now in the work directory. */
async function stageDeployment(
  { job, signal }: PhaseContext,
  deployment: Deployment | null,
  files: Files,
  app: App,
): Promise<readonly string[]> {
  if (deployment === null) return [];
  const { from, path } = deployment;
  const there = await from.connection.files.stat(path);
  if (there?.type !== 'dir') throw new Failed(CONDITION, `the app ${app.id} is not deployed: ${path} is no directory`);
  const names = await namesIn(from.connection.files, path);
  const inputs = new Set(stagedInputs(job, app).map(({ name }) => name));
  const both = names.find((name) => inputs.has(name));
  if (both !== undefined) {
    throw new Failed(CONDITION, `an input and a file of the app ${app.id} are both called '${both}': rename the input`);
  }
  const to = { files, path: workPathOf(job) };
  // Another one with its size may be there from before the app was changed.
  await transfer({ files: from.connection.files, path }, there, to, { signal, condition: CONDITION });
  return names;
}

async function namesIn(files: Files, path: string): Promise<readonly string[]> {
  const names: string[] = [];
  for (let offset = 0; ; offset += PAGE) {
    const page = (await files.list(path, { limit: PAGE, offset })) ?? [];
    names.push(...page.map(({ name }) => name));
    if (page.length < PAGE) return names;
  }
}

const PAGE = 1_000;

async function templateOf({ program }: App, deployment: Deployment | null): Promise<string | null> {
  if (program.kind === 'command') return null;
  if (program.kind === 'template') return program.text;
  if (deployment === null) throw new Failed(CONDITION, 'the app has a deployed wrapper, and no deployment');
  const { from, path } = deployment;
  return readText({ files: from.connection.files, path: below(path, program.templatePath) }, CONDITION);
}

function writeText(files: Files, path: string, content: string, mode: number, signal: AbortSignal): Promise<number> {
  return files.write(path, () => Readable.from([Buffer.from(content)]), { mode, signal });
}

function explained(error: unknown, job: Job): unknown {
  if (!(error instanceof FileTrouble)) return error;
  const message = `what ${job.appId} needs cannot be put into the work directory: ${error.message}`;
  return new Failed(CONDITION, message, { cause: error });
}
