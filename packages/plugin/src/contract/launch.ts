import { readOwn } from '@muster/base/own-parts';
import type { AssignedTask } from '@muster/wire';

/** A program, and what it is started with. Never a line for a shell. */
export interface ProgramCall {
  readonly file: string;
  readonly args: readonly string[];
}

/** The descriptor on which a program tells its progress. */
export const PROGRESS_FD = 3;

/** Perl's arguments to run a class by the contract of task files; its own follow. */
export const PERL_RUNNER: readonly string[] = [
  '-e',
  readOwn(new URL('../../perl/muster-perl-runner', import.meta.url)).toString(),
  '--',
];

/** Of a plugin of type `default`: `--config FILE --task FILE`; without a configuration, of type `nomongo` (sheet §3.4). */
export function fileContractCall(program: string, taskFile: string, configFile: string | null): ProgramCall {
  const config = configFile === null ? [] : ['--config', configFile];
  return { file: program, args: [...config, '--task', taskFile] };
}

/** Of a Perl class; `perl` is the interpreter. */
export function perlCall(perl: string, plugin: string, lib: readonly string[], taskFile: string): ProgramCall {
  const dirs = lib.flatMap((dir) => ['--lib', dir]);
  return { file: perl, args: [...PERL_RUNNER, '--task', taskFile, '--plugin', plugin, ...dirs] };
}

/** What a plugin of type `default` reads with `--config`: there is no database for it, and so nothing secret. */
export function pluginConfig(config: {
  readonly node: string;
  readonly tempDir: string;
  readonly plugins: { readonly [name: string]: { readonly type: string } };
}): { readonly [name: string]: unknown } {
  return { node: config.node, temp_dir: config.tempDir, plugins: config.plugins, auth: {} };
}

/** What every program is told of the task that it runs for. `taskFile` holds the parameters (simple contract) or the task. */
export function taskVariables(
  task: AssignedTask,
  node: string,
  taskFile: string | null,
): { readonly [name: string]: string } {
  return {
    MUSTER_TASK_ID: task.id,
    MUSTER_TASK_ATTEMPT: String(task.attempt),
    ...(taskFile !== null && { MUSTER_TASK_FILE: taskFile }),
    MUSTER_QUEUE: task.queue.name,
    MUSTER_NODE_NAME: node,
    MUSTER_PROGRESS_FD: String(PROGRESS_FD),
  };
}
