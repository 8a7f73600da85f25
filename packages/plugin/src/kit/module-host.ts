import { judgeOutcome, judgeThrown, loadModule } from '../contract/index.js';
import type { Task, TaskContext } from '../index.js';
import type { FromModule, ToModule } from './try-module.js';

/** The process in which the kit runs a module: one task, then it ends. */

const cancelling = new AbortController();

process.on('message', (message) => {
  const told = message as ToModule;
  if (told.type === 'abort') cancelling.abort(new Error(told.reason));
  else void runModule(told.module, told.task);
});

async function runModule(module: string, task: Task): Promise<void> {
  const context: TaskContext = {
    signal: cancelling.signal,
    log: (line, stream = 'stdout') => tell({ type: 'log', stream, line: String(line) }),
    progress: (fraction, text = '') => tell({ type: 'progress', fraction: Number(fraction), text: String(text) }),
  };
  const outcome = await loadModule(module)
    .then((run) => run(task, context))
    .then(judgeOutcome, judgeThrown);
  leave({ type: 'ended', outcome });
}

function tell(said: FromModule): void {
  process.send?.(said);
}

/** Ends the process once this is said: what a plugin left behind would keep it for ever. */
function leave(said: FromModule): void {
  process.send?.(said, undefined, undefined, () => process.exit(0));
}
