import { randomBytes } from 'node:crypto';
import type { AssignedTask } from '@muster/wire';
import {
  classFault,
  fileContractCall,
  fillArguments,
  judge,
  judgeExit,
  type ProgramCall,
  parseArguments,
  perlCall,
  pluginConfig,
  programFault,
  readResponse,
  taskDocument,
  taskFilesOf,
  writeTaskFiles,
} from '../contract/index.js';
import { OUTPUT_BYTES } from './limits.js';
import { type Trial, type TriedPlugin, type TriedTask, unlessUnable, Workbench } from './trial.js';
import { tryModule } from './try-module.js';

/** Runs a plugin on a task as a node does, by the same code. Throws ArgumentsError for arguments that are none. */
export function tryPlugin(plugin: TriedPlugin, given: TriedTask): Promise<Trial> {
  return Workbench.use(assigned(plugin, given), given, (bench) => unlessUnable(bench, () => tryAt(bench, plugin)));
}

function assigned(plugin: TriedPlugin, given: TriedTask): AssignedTask {
  const now = Date.now();
  return {
    id: given.id ?? madeUpId(),
    attempt: given.attempt ?? 1,
    queue: { id: given.queueId ?? madeUpId(), name: given.queue ?? 'trial' },
    plugin: plugin.contract,
    params: given.params,
    ctime: given.ctime ?? now,
    mtime: given.mtime ?? now,
    timeoutSeconds: given.timeoutSeconds ?? null,
    outputLimit: OUTPUT_BYTES,
  };
}

function madeUpId(): string {
  return randomBytes(12).toString('hex');
}

async function tryAt(bench: Workbench, plugin: TriedPlugin): Promise<Trial> {
  switch (plugin.contract) {
    case 'module':
      return tryModule(bench, plugin.module);
    case 'perl': {
      const fault = classFault(plugin.plugin);
      if (fault !== null) return bench.unable(fault);
      return answerInFile(bench, async (taskFile) => perlCall('perl', plugin.plugin, plugin.lib, taskFile));
    }
    default: {
      const fault = await programFault(plugin.program);
      if (fault !== null) return bench.unable(fault);
      return plugin.contract === 'simple' ? trySimple(bench, plugin) : tryProgram(bench, plugin);
    }
  }
}

function tryProgram(
  bench: Workbench,
  { contract, program }: Extract<TriedPlugin, { contract: 'default' | 'nomongo' }>,
) {
  return answerInFile(bench, async (taskFile) => {
    const config = { node: bench.node, tempDir: bench.files, plugins: { [program]: { type: contract } } };
    const configFile = contract === 'default' ? bench.file('plugin-config.json', pluginConfig(config)) : null;
    return fileContractCall(program, taskFile, configFile);
  });
}

async function answerInFile(bench: Workbench, callOf: (taskFile: string) => Promise<ProgramCall>): Promise<Trial> {
  const files = taskFilesOf(bench.files, bench.task.id);
  await writeTaskFiles(files, JSON.stringify(taskDocument(bench.task, bench.node)), null);
  const end = await bench.run({ call: await callOf(files.task) }, files.task);
  return bench.endRun(end, judge(await readResponse(files, null), end));
}

async function trySimple(bench: Workbench, plugin: Extract<TriedPlugin, { contract: 'simple' }>): Promise<Trial> {
  const filled = fillArguments(parseArguments(plugin.args), bench.task.params);
  if ('error' in filled) return bench.notStarted(filled.error);
  const { task: taskFile } = taskFilesOf(bench.files, bench.task.id);
  const params = JSON.stringify(bench.task.params);
  await writeTaskFiles(taskFilesOf(bench.files, bench.task.id), params, null);
  const call = { file: plugin.program, args: filled.argv };
  const end = await bench.run({ call, ...(plugin.stdin === true && { stdin: params }) }, taskFile);
  return bench.endRun(end, { ...bench.takePrinted(), ...judgeExit(end) });
}
