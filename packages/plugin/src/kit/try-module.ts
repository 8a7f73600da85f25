import { fileURLToPath } from 'node:url';
import { cmdErrOf } from '@muster/wire';
import { type OutcomeJudgement, progressOf } from '../contract/index.js';
import type { Task } from '../index.js';
import type { Trial, Workbench } from './trial.js';

/** To the process that runs a module. */
export type ToModule =
  | { readonly type: 'run'; readonly module: string; readonly task: Task }
  | { readonly type: 'abort'; readonly reason: string };

/** From it. */
export type FromModule =
  | { readonly type: 'log'; readonly stream: 'stdout' | 'stderr'; readonly line: string }
  | { readonly type: 'progress'; readonly fraction: number; readonly text: string }
  | { readonly type: 'ended'; readonly outcome: OutcomeJudgement };

const HOST = fileURLToPath(new URL('./module-host.js', import.meta.url));

/** Runs a module in a process of its own, so that it can be ended. */
export async function tryModule(bench: Workbench, module: string): Promise<Trial> {
  const { id, attempt, queue, params, ctime, mtime } = bench.task;
  const first: ToModule = {
    type: 'run',
    module,
    task: { id, attempt, queue, node: bench.node, params, ctime, mtime },
  };
  const abort: ToModule = { type: 'abort', reason: 'its time is over' };
  const logged = { stdout: '', stderr: '' };
  let last: OutcomeJudgement | null = null;
  const onMessage = (message: unknown): void => {
    const said = message as FromModule;
    switch (said.type) {
      case 'log':
        logged[said.stream] += `${said.line}\n`;
        return;
      case 'progress':
        bench.tell(progressOf(said.fraction, said.text));
        return;
      case 'ended':
        last = said.outcome;
    }
  };
  const call = { file: process.execPath, args: [HOST] };
  const end = await bench.run({ call, channel: { first, abort, onMessage } }, null);
  const outcome = (last as OutcomeJudgement | null) ?? vanished(cmdErrOf(end.exitCode, end.signal));
  const both = (stream: 'stdout' | 'stderr') => `${logged[stream]}${outcome[stream] ?? ''}` || null;
  // A module has no exit of its own.
  const exit = { exitCode: null, signal: null };
  return bench.endRun(end, { ...outcome, ...exit, stdout: both('stdout'), stderr: both('stderr') });
}

function vanished(cmdErr: string | null): OutcomeJudgement {
  const reason = `the plugin ended its process instead of returning (${cmdErr === '<nil>' ? 'exit status 0' : cmdErr})`;
  return { status: 2, retry: false, reason, stdout: null, stderr: null };
}
