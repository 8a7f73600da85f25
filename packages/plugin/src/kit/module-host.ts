import { pathToFileURL } from 'node:url';
import { judgeOutcome, judgeThrown } from '../contract/index.js';
import type { RunTask, Task, TaskContext } from '../index.js';
import type { FromModule, ToModule } from './try-module.js';

/** The process in which the kit runs a module: one task, then it ends. */

const cancelling = new AbortController();

process.on('message', (message) => {
  const told = message as ToModule;
  if (told.type === 'abort') cancelling.abort(new Error(told.reason));
  else void runModule(told.module, told.task);
});

async function runModule(module: string, task: Task): Promise<void> {
  const loaded = await load(module);
  if (typeof loaded === 'string') return leave({ type: 'unable', reason: loaded });
  const context: TaskContext = {
    signal: cancelling.signal,
    log: (line, stream = 'stdout') => tell({ type: 'log', stream, line: String(line) }),
    progress: (fraction, text = '') => tell({ type: 'progress', fraction: Number(fraction), text: String(text) }),
  };
  const outcome = await Promise.resolve()
    .then(() => loaded(task, context))
    .then(judgeOutcome, judgeThrown);
  leave({ type: 'ended', outcome });
}

/** Its `run`, or what is wrong. */
async function load(module: string): Promise<RunTask | string> {
  try {
    const { run } = (await import(pathToFileURL(module).href)) as { readonly run?: unknown };
    if (typeof run === 'function') return run as RunTask;
    return `cannot run ${module}: it exports no function 'run'`;
  } catch (error) {
    return `cannot load ${module}: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function tell(said: FromModule): void {
  process.send?.(said);
}

/** Ends the process once this is said: what a plugin left behind would keep it for ever. */
function leave(said: FromModule): void {
  process.send?.(said, undefined, undefined, () => process.exit(0));
}
