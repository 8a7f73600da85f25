import { setTimeout as sleep } from 'node:timers/promises';
import { isFinal } from '../../../api.js';
import { printable } from '../../../printable.js';
import type { Call } from '../../../shell.js';
import { type FeedEvent, followFeed } from '../../../sse.js';
import { readJob } from '../read-job.js';
import type { LiveLines, ShownText, WrittenPiece } from './lines.js';

export interface LiveFeed {
  readonly lines: LiveLines;
  /** Resolves when whoever reads it has taken it. */
  readonly show: (texts: readonly ShownText[]) => Promise<void>;
  /** Resolves when what this node wrote has its place behind what the job's feed tells. */
  readonly turnOf: (node: string) => Promise<void>;
  /** Aborted: nobody watches any more. */
  readonly signal: AbortSignal;
}

/** Shows what the nodes of a job write until all of it is shown. A job is watched on when its output cannot be. */
export async function followOutput(
  call: Call<object>,
  id: string,
  { lines, show, turnOf, signal }: LiveFeed,
): Promise<void> {
  const { client } = call;
  const events = followFeed(client, client.inOrg('pushy', 'jobs', id, 'output'), {
    signal,
    again: async () => !isFinal(await readJob(call, id)),
    // Who watches the job is told by its own feed.
    onTrouble: () => {},
    pause: (ms) => sleep(ms, undefined, { signal }).catch(() => {}),
    now: () => call.world.now(),
  });
  try {
    for await (const event of events) {
      if (event.name === 'output_complete') break;
      if (event.name === 'output') await turnOf(nodeOf(event));
      const texts = textsOf(lines, event);
      if (texts.length > 0) await show(texts);
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    await show([
      { to: 'stderr', text: `output cannot be shown: ${why}   Read it: muster push output ${id}\n`, apart: true },
    ]);
  }
  await show(lines.end());
}

function textsOf(lines: LiveLines, event: FeedEvent): ShownText[] {
  switch (event.name) {
    case 'output':
      return lines.push(pieceOf(event));
    case 'output_end':
      return lines.endOf(nodeOf(event));
    case 'output_missing':
      return [missing(event)];
    default:
      return [];
  }
}

function nodeOf({ data }: FeedEvent): string {
  return String((data as Readonly<Record<string, unknown>>).node);
}

function pieceOf({ data }: FeedEvent): WrittenPiece {
  const { node, stream, offset, text, base64 } = data as Readonly<Record<string, unknown>>;
  return {
    node: String(node),
    stream: stream === 'stderr' ? 'stderr' : 'stdout',
    offset: Number(offset),
    data: typeof text === 'string' ? Buffer.from(text) : Buffer.from(String(base64), 'base64'),
  };
}

function missing({ data }: FeedEvent): ShownText {
  const { node, reason } = data as Readonly<Record<string, unknown>>;
  const what = 'may be incomplete, what came last did not reach the server';
  return { to: 'stderr', text: `${printable(String(node))}: ${what} (${printable(String(reason))})\n`, apart: true };
}
