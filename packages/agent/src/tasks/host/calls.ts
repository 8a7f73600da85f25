import { join } from 'node:path';
import {
  fileContractCall,
  fillArguments,
  type Judgement,
  judge,
  judgeExit,
  parseArguments,
  perlCall,
  pluginConfig,
  programFault,
  readResponse,
  type StartFault,
  taskDocument,
  taskFilesOf,
  unableToStart,
  writeNewFile,
} from '@muster/plugin/contract';
import type { AssignedTask } from '@muster/wire';
import type { Account } from '../../execution/account.js';
import type { Exit } from '../../execution/runner.js';
import type { ProgramPlugin } from '../plugins.js';
import type { Verdict } from './attempt.js';

/** How a program is called for one task, and what its end means, by the contract of its plugin. */
export interface Call {
  readonly file: string;
  readonly args: readonly string[];
  /** What MUSTER_TASK_FILE names. */
  readonly taskFile: string;
  /** Files that were made for it. */
  readonly files: readonly string[];
  /** Whether it reads the task file as its input. */
  readonly stdin: boolean;
  /** Whether what it writes is the output of the task. */
  readonly ownOutput: boolean;
  judge(exit: Exit): Promise<Omit<Verdict, 'killed'>>;
}

export interface CallPlace {
  /** The working directory of the task, empty. */
  readonly dir: string;
  readonly node: string;
  readonly account: Account | null;
}

/** The task cannot be started; the message says why. */
export class NotStarted extends Error {
  override readonly name = 'NotStarted';
  /** What the contract says of it. */
  readonly verdict: Omit<Verdict, 'killed'> | null;

  constructor(
    message: string,
    { verdict = null, cause }: { verdict?: Omit<Verdict, 'killed'> | null; cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.verdict = verdict;
  }
}

const PERL = 'perl';

/** Writes the files of the task and says how its program is called. Throws NotStarted. */
export function callOf(plugin: ProgramPlugin, task: AssignedTask, place: CallPlace): Promise<Call> {
  return plugin.contract === 'simple' ? simpleCall(plugin, task, place) : fileCall(plugin, task, place);
}

type Contract<Name extends ProgramPlugin['contract']> = Extract<ProgramPlugin, { contract: Name }>;

async function simpleCall(plugin: Contract<'simple'>, task: AssignedTask, { dir, account }: CallPlace): Promise<Call> {
  const filled = fillArguments(parseArguments(plugin.args), task.params);
  if ('error' in filled) throw new NotStarted(filled.error);
  const taskFile = join(dir, 'params.json');
  writeNewFile(taskFile, JSON.stringify(task.params), account);
  return {
    file: plugin.program,
    args: filled.argv,
    taskFile,
    files: [taskFile],
    stdin: plugin.stdin,
    ownOutput: true,
    judge: async (exit) => ({ ...judgeExit(exit), stdout: null, stderr: null }),
  };
}

/** The contracts in which a program reads its task from a file and answers in another. */
async function fileCall(
  plugin: Contract<'default' | 'nomongo' | 'perl'>,
  task: AssignedTask,
  { dir, node, account }: CallPlace,
): Promise<Call> {
  const fault = plugin.contract === 'perl' ? null : await programFault(plugin.program);
  if (fault !== null) throw faulty(fault, task.id);
  const files = taskFilesOf(dir, task.id);
  writeNewFile(files.task, JSON.stringify(taskDocument(task, node)), account);
  const written =
    plugin.contract === 'default' && plugin.config === null ? writeConfig(plugin, dir, node, account) : null;
  const config = plugin.contract === 'default' ? (plugin.config ?? written) : null;
  const call =
    plugin.contract === 'perl'
      ? perlCall(PERL, plugin.plugin, plugin.lib, files.task)
      : fileContractCall(plugin.program, files.task, config);
  return {
    ...call,
    taskFile: files.task,
    files: [files.task, files.response, ...(written === null ? [] : [written])],
    stdin: false,
    ownOutput: false,
    judge: async (exit) => ({ retry: false, ...judge(await readResponse(files, account), exit) }),
  };
}

/** What a plugin finds out of the configuration of its runner. */
function writeConfig({ program }: Contract<'default'>, dir: string, node: string, account: Account | null): string {
  const file = join(dir, 'config.json-plugin');
  const config = pluginConfig({ node, tempDir: dir, plugins: { [program]: { type: 'default' } } });
  writeNewFile(file, JSON.stringify(config), account);
  return file;
}

function faulty(fault: StartFault, task: string): NotStarted {
  const judgement: Judgement = unableToStart(fault, task);
  return new NotStarted(judgement.reason ?? 'unable to start', { verdict: { retry: false, ...judgement } });
}
