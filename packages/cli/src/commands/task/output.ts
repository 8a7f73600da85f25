import { EXIT } from '@muster/base';
import { MusterError } from '../../errors.js';
import type { StreamName } from '../../output.js';
import { followedStream, type OutputInfo, type OutputPlace, storedStream } from '../../output-stream.js';
import { printable } from '../../printable.js';
import type { Call } from '../../shell.js';
import { hasEnded, isOnNode } from './api.js';
import { outcome, readTask, tellProgress, waitFor } from './waiting.js';

export interface OutputOptions {
  readonly output?: boolean;
  readonly stderr?: boolean;
  readonly follow?: boolean;
  readonly attempt?: number;
}

type Named = Call<OutputOptions>;

/** Those asked for; both when none is. */
function streams({ options: { output, stderr } }: Named): readonly StreamName[] {
  if (output !== true && stderr !== true) return ['stdout', 'stderr'];
  return [...(output === true ? (['stdout'] as const) : []), ...(stderr === true ? (['stderr'] as const) : [])];
}

/** A single stream asked for by name goes where it can be redirected. */
function destination(call: Named, stream: StreamName): StreamName {
  return streams(call).length === 1 ? 'stdout' : stream;
}

function placeOf({ client }: Named, id: string, stream: StreamName, attempt: number | undefined): OutputPlace {
  const path = client.inOrg('tasks', id, 'output', stream);
  const again = `muster task show ${id} --${stream === 'stdout' ? 'output' : 'stderr'}`;
  return { path, ...(attempt !== undefined && { query: { attempt } }), again };
}

/** What is stored of a run. */
export async function showOutput(call: Named, id: string): Promise<number> {
  const { attempt } = call.options;
  const read = storedStream(call);
  let any = false;
  for (const stream of streams(call)) {
    const chunks: Uint8Array[] = [];
    const write = call.out.foreign('bytes', destination(call, stream));
    const onData = call.out.json ? (data: Uint8Array) => void chunks.push(data) : write;
    const info = await read(placeOf(call, id, stream, attempt), { onData });
    tellMissing(call, stream, info);
    if (info === null) continue;
    any = true;
    const { dropped, complete, missing } = info;
    const told = { stream, ...content(Buffer.concat(chunks)), dropped_bytes: dropped, complete };
    call.out.record({ ...told, ...(missing !== null && { missing }) });
  }
  if (any) return EXIT.ok;
  // Which is missing: the task, or its output?
  const task = await readTask(call, id);
  throw new MusterError('no_task_output', { id, attempt: attempt ?? task.attempt });
}

/** Run after run, as it comes, until the task has ended. */
export async function followTask(call: Named, id: string): Promise<number> {
  const read = followedStream(call, 'task');
  let shown = (call.options.attempt ?? 1) - 1;
  for (;;) {
    const found = await waitFor(call, id, (task) => task.attempt > shown && isOnNode(task));
    if (found.attempt > shown) {
      shown = call.options.attempt ?? found.attempt;
      const over = new AbortController();
      const reading = streams(call).map(async (stream) => {
        const onData = call.out.foreign('bytes', destination(call, stream));
        tellMissing(call, stream, await read(placeOf(call, id, stream, shown), { onData }));
      });
      const wholly = Promise.all(reading).finally(() => over.abort());
      await Promise.all([wholly, tellProgress(call, id, over.signal)]);
    }
    const now = await readTask(call, id);
    if (hasEnded(now)) return outcome(call, now);
    if (call.options.attempt !== undefined) return EXIT.ok;
    call.out.note(`run ${shown} is over${now.reason === null ? '' : ` (${printable(now.reason)})`}, another follows`);
  }
}

function content(bytes: Buffer): { text: string } | { base64: string } {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { base64: bytes.toString('base64') };
  }
}

function tellMissing(call: Named, stream: StreamName, info: OutputInfo | null): void {
  if (info === null) return;
  if (info.missing !== null) call.out.note(`${stream}: some of it is missing (${printable(info.missing)})`);
  else if (info.dropped > 0)
    call.out.note(`${stream}: ${info.dropped} bytes in the middle were not kept (output limit)`);
}
