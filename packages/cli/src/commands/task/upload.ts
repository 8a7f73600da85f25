import { RefusedError } from '../../client.js';
import { CountLine } from '../../count-line.js';
import { MusterError } from '../../errors.js';
import { TASK_REQUEST_BYTES, TASKS_PER_REQUEST } from '../../limits.js';
import type { Call } from '../../shell.js';
import type { SourcedTask } from './source.js';

/** How many tasks were made, and how many were there already. */
export interface Uploaded {
  added: number;
  existed: number;
}

interface Lines {
  readonly content: string;
  /** On which line of the file each of them stands. */
  readonly at: readonly number[];
}

/**
 * Hands tasks to a queue, some thousands at a time: while one lot is stored, the next is read. Each lot is signed by itself, so that
 * nothing has to be known of the whole before it begins.
 * @throws MusterError `tasks_not_added` with the line at which it ended, and how to go on there.
 */
export async function upload(call: Call<object>, queue: string, tasks: AsyncIterable<SourcedTask>): Promise<Uploaded> {
  const { client } = call;
  const path = client.inOrg('queues', queue, 'tasks');
  const done: Uploaded = { added: 0, existed: 0 };
  const progress = new CountLine(call.world, 'tasks');
  const send = async ({ content, at }: Lines): Promise<void> => {
    try {
      const answer = await client.json('POST', path, { text: { type: 'application/x-ndjson', content } });
      count(done, answer);
      progress.update(done.added + done.existed);
    } catch (error) {
      throw stopped(error, at, done);
    }
  };
  let sending: Promise<void> = Promise.resolve();
  try {
    for await (const lines of lotsOf(tasks)) {
      await sending;
      sending = send(lines);
      // Its failure is told where it is waited for.
      sending.catch(() => undefined);
    }
    await sending;
    return done;
  } catch (error) {
    // A line that cannot be read: what is on its way is stored first.
    await sending.catch(() => undefined);
    if (error instanceof MusterError && error.code === 'usage' && done.added + done.existed > 0) {
      const line = Number(error.details.line ?? 1);
      throw new MusterError('tasks_not_added', { reason: error.message, line, ...told(done) });
    }
    throw error;
  } finally {
    progress.done();
  }
}

async function* lotsOf(tasks: AsyncIterable<SourcedTask>): AsyncGenerator<Lines> {
  let content = '';
  let at: number[] = [];
  try {
    for await (const { line, task } of tasks) {
      const text = JSON.stringify(task);
      if (at.length === TASKS_PER_REQUEST || (content.length + text.length > TASK_REQUEST_BYTES && at.length > 0)) {
        yield { content, at };
        content = '';
        at = [];
      }
      content += `${text}\n`;
      at.push(line);
    }
  } catch (error) {
    // What comes before a line that cannot be read is added.
    if (at.length > 0) yield { content, at };
    throw error;
  }
  if (at.length > 0) yield { content, at };
}

function count(done: Uploaded, answer: unknown): void {
  const { added = 0, existed = 0 } = (answer ?? {}) as Partial<Uploaded>;
  done.added += added;
  done.existed += existed;
}

function told({ added, existed }: Uploaded): { done: string } {
  return {
    done: `${added.toLocaleString('en')} added${existed > 0 ? `, ${existed.toLocaleString('en')} there already` : ''}`,
  };
}

/** What the server refused names its own line; in the file it is another. */
function stopped(error: unknown, at: readonly number[], done: Uploaded): unknown {
  if (!(error instanceof MusterError)) return error;
  if (!(error instanceof RefusedError)) {
    const line = at[0] ?? 1;
    const reason = `${error.message}; whether tasks from line ${line} to ${at.at(-1)} were added is not known`;
    return new MusterError('tasks_not_added', { reason, line, ...told(done) });
  }
  const answer = error.answer as { readonly line?: number } | undefined;
  if (answer?.line === undefined) return error;
  count(done, answer);
  const line = at[answer.line - 1] ?? 0;
  const reason = `line ${line}: ${error.message.replace(/^line \d+: /, '')}`;
  return new MusterError('tasks_not_added', { reason, line, ...told(done) });
}
