import { setTimeout as sleep } from 'node:timers/promises';
import { EXIT } from '@muster/base';
import { isFinal, type Job } from '../../api.js';
import { StatusLine } from '../../progress.js';
import { confirm, isInteractive } from '../../prompt.js';
import type { Call } from '../../shell.js';
import { type FeedEvent, followFeed } from '../../sse.js';
import { Tally } from '../../tally.js';
import { batchLine } from './batches.js';
import { tellBusy } from './live/busy-nodes.js';
import { fetchingText } from './live/fetching.js';
import { type OutputChoice, openView } from './live/view.js';
import { readJob } from './read-job.js';

/** How watching ended: with the job, or with the watcher going away while the job goes on. */
export type Watched = { readonly kind: 'ended'; readonly job: Job } | { readonly kind: 'left'; readonly exit: number };

/** 128 plus the signal's number, as shells report it. */
const EXIT_INTERRUPTED = 130;
const EXIT_TERMINATED = 143;

export function abortJob(call: Call<object>, id: string): Promise<Job> {
  return call.client.put<Job>(call.client.inOrg('pushy', 'jobs', id, 'abort'));
}

export interface WatchOptions {
  readonly onEvent?: (event: FeedEvent) => void;
  /** How output is shown; absent: as suits the number of nodes. */
  readonly output?: OutputChoice | undefined;
  /** It was started a moment ago: what it wrote is shown also when it has ended already. */
  readonly justStarted?: boolean;
  /** It is being aborted: there is nothing to ask. */
  readonly aborting?: boolean;
}

/**
 * Follows a job to its end with one status line, and shows what its nodes write. The job belongs to the server: whatever happens here changes nothing
 * there, except that Ctrl-C offers to abort it.
 */
export async function watchJob(
  call: Call<object>,
  id: string,
  { onEvent = () => {}, output: choice, justStarted = false, aborting = false }: WatchOptions = {},
): Promise<Watched> {
  const leaving = new AbortController();
  const tally = new Tally();
  /** Of the events alone, which begin with what has been. */
  const soFar = new Tally();
  const line = new StatusLine(call.world, tally);
  const interrupts = new Interrupts(call, id, line, leaving, aborting);
  const over = new AbortController();
  try {
    const first = await readJob(call, id);
    if (first.nodes !== undefined) tally.load(first);
    if (isFinal(first) && !call.out.json) {
      if (justStarted) await openView(call, first, { line, choice, signal: leaving.signal }).done;
      return leaving.signal.aborted ? { kind: 'left', exit: interrupts.exit } : { kind: 'ended', job: first };
    }
    line.beforeVote(fetchingText(first));
    line.update();
    const view = openView(call, first, { line, choice, signal: leaving.signal });
    void tellBusy(call, first, line, over.signal);
    const events = followFeed(call.client, call.client.inOrg('pushy', 'job_status_feed', id), {
      signal: leaving.signal,
      // No event tells that a job crashed (sheet §7.10): only the job itself says whether more is to come.
      again: async () => !isFinal(await readJob(call, id)),
      onTrouble: (reason) => line.trouble(reason),
      pause: (ms) => sleep(ms, undefined, { signal: leaving.signal }).catch(() => {}),
      now: () => call.world.now(),
    });
    for await (const event of events) {
      tally.apply(event);
      if (first.batches !== undefined) soFar.apply(event);
      onEvent(event);
      const told = batchLine(first, event, soFar);
      if (told !== null) {
        void line.above(() => {
          if (!leaving.signal.aborted) call.out.note(told);
        });
      }
      if (event.name !== 'job_complete' && event.name !== 'summary') line.update();
      // What nodes write stands below what was told before.
      view.event(event);
      if (event.name === 'job_complete' || event.name === 'summary') break;
    }
    if (leaving.signal.aborted) return { kind: 'left', exit: interrupts.exit };
    // There is nothing left to abort, and what was held back for the question is shown.
    interrupts.withdraw();
    await view.done;
    if (leaving.signal.aborted) return { kind: 'left', exit: interrupts.exit };
    const job = await settled(call, id);
    // No event tells of nodes that were never started.
    if (job.nodes !== undefined) tally.load(job);
    return { kind: 'ended', job };
  } finally {
    over.abort();
    interrupts.stop();
    line.done();
  }
}

/** The job after its feed ended; the feed may be a moment ahead of it. */
async function settled(call: Call<object>, id: string): Promise<Job> {
  for (let attempt = 0; ; attempt++) {
    const job = await readJob(call, id);
    if (isFinal(job) || attempt >= 20) return job;
    await sleep(100);
  }
}

/**
 * Ctrl-C asks whether to abort, unless that is done already; Ctrl-C again, or without a terminal, leaves the job running and says how to go on.
 */
class Interrupts {
  exit: number = EXIT.ok;
  readonly #call: Call<object>;
  readonly #id: string;
  readonly #line: StatusLine;
  readonly #leaving: AbortController;
  #aborting: boolean;
  /** The question that stands. */
  #question: AbortController | null = null;
  readonly #unsubscribe: () => void;

  constructor(call: Call<object>, id: string, line: StatusLine, leaving: AbortController, aborting: boolean) {
    this.#call = call;
    this.#id = id;
    this.#line = line;
    this.#leaving = leaving;
    this.#aborting = aborting;
    this.#unsubscribe = call.world.onSignal(['SIGINT', 'SIGTERM'], (signal) => {
      const asks = signal === 'SIGINT' && isInteractive(call.world) && this.#question === null && !this.#aborting;
      if (asks) void this.#ask();
      else this.#leave(signal === 'SIGINT' ? EXIT_INTERRUPTED : EXIT_TERMINATED);
    });
  }

  stop(): void {
    this.#unsubscribe();
    this.withdraw();
  }

  withdraw(): void {
    this.#question?.abort();
  }

  async #ask(): Promise<void> {
    this.#question = new AbortController();
    this.#line.hold();
    const question = `Abort job ${this.#id}? Ctrl-C again leaves it running.`;
    const yes = await confirm(this.#call.world, question, this.#question.signal);
    this.#question = null;
    this.#line.release();
    if (!yes || this.#leaving.signal.aborted) return;
    try {
      await abortJob(this.#call, this.#id);
      this.#aborting = true;
      this.#line.clear();
      this.#call.out.note('aborting');
    } catch (error) {
      this.#line.clear();
      this.#call.out.note(`could not abort: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  #leave(exit: number): void {
    this.exit = exit;
    this.#line.clear();
    const id = this.#id;
    const goesOn = `The job goes on. Watch: muster push watch ${id}   Abort: muster push abort ${id}`;
    this.#call.out.note(`\n${this.#aborting ? `The job is being aborted. Watch: muster push watch ${id}` : goesOn}`);
    this.#leaving.abort();
    this.withdraw();
  }
}
