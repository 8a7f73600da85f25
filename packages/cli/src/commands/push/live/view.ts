import { isFinal, type Job } from '../../../api.js';
import type { Colour, StreamName } from '../../../output.js';
import type { StatusLine } from '../../../progress.js';
import type { Call } from '../../../shell.js';
import type { FeedEvent } from '../../../sse.js';
import { endOfRun } from '../../../tally.js';
import { FAILED } from '../outcome.js';
import { followOutput } from './feed.js';
import { LiveLines, MOST_ALIGNED, type ShownText } from './lines.js';
import { NewestFailing } from './newest-failing.js';
import { Turns } from './turns.js';

/** How output is shown: as it comes, identical results together at the end, or not at all. */
export type OutputChoice = 'live' | 'grouped' | 'none';

export type View =
  /** Every line, with names in front unless there is one node. */
  | { readonly kind: 'lines'; readonly names: readonly string[] | null }
  /** The line of progress, and below it the newest node that failed. */
  | { readonly kind: 'progress' };

/**
 * What a person sees of a job: the lines of its nodes, or, of more than ten on a terminal, how far it is. Who asks for
 * `live` in words gets the lines of any number.
 */
export function viewOf(
  job: Pick<Job, 'capture_output' | 'nodes'>,
  choice: OutputChoice | undefined,
  terminal: boolean,
): View {
  const names = Object.values(job.nodes ?? {})
    .flat()
    .sort();
  if (choice === 'none' || choice === 'grouped' || job.capture_output !== true) return { kind: 'progress' };
  if (terminal && choice === undefined && names.length > MOST_ALIGNED) return { kind: 'progress' };
  return { kind: 'lines', names: names.length === 1 ? null : names };
}

/** After the end, when nodes failed and only counts were shown of them: where to read what they wrote. */
export function tellUnseen(call: Call<object>, job: Job, choice: OutputChoice | undefined): void {
  if (choice !== undefined || job.capture_output !== true || call.out.json) return;
  if (viewOf(job, choice, call.out.onTerminal).kind === 'lines') return;
  if (FAILED.some((status) => (job.nodes?.[status]?.length ?? 0) > 0)) {
    call.out.note(`What the nodes wrote: muster push results ${job.id}   Line by line: muster push output ${job.id}`);
  }
}

export interface LiveView {
  event(event: FeedEvent): void;
  /** Resolves when everything is shown. */
  readonly done: Promise<void>;
}

/** Begins to show the job beside its line of progress. */
export function openView(
  call: Call<object>,
  job: Job,
  { line, choice, signal }: { line: StatusLine; choice: OutputChoice | undefined; signal: AbortSignal },
): LiveView {
  if (call.out.json) return { event: () => {}, done: Promise.resolve() };
  const view = viewOf(job, choice, call.out.onTerminal);
  if (view.kind === 'lines') {
    const atOnce = (['stdout', 'stderr'] as const).filter((stream) => call.world[stream].isTTY === true);
    const lines = new LiveLines({ names: view.names, paint: (...how) => paint(call, ...how), atOnce });
    const show = async (texts: readonly ShownText[]): Promise<void> => {
      await line.pass(texts, async ({ to, text }) => {
        if (!signal.aborted) await call.out.raw(Buffer.from(text), to);
      });
      if (!isFinal(job)) line.update();
    };
    const turns = new Turns(isFinal(job));
    const turnOf = (node: string): Promise<void> => turns.of(node);
    return {
      event: (event) => turns.event(event),
      done: followOutput(call, job.id, { lines, show, turnOf, signal }),
    };
  }
  const tell = (text: string): void => line.remark(text);
  const failing = new NewestFailing({ call, jobId: job.id, captured: job.capture_output === true, tell, signal });
  return {
    event: (event) => {
      const end = endOfRun(event);
      if (line.live && end !== null && end.status !== 'succeeded') failing.failed(end.node, end.status);
    },
    done: Promise.resolve(),
  };
}

function paint({ out, world }: Call<object>, text: string, colour: Colour, to: StreamName): string {
  return world[to].isTTY === true ? out.paint(text, colour) : text;
}
