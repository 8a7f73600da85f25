import { MOST_FOLLOWED } from '../../limits.js';
import type { StreamName } from '../../output.js';
import type { Call } from '../../shell.js';
import { NodeLines } from './node-lines.js';
import { followedOutput, type OutputInfo } from './output-stream.js';

export interface FollowedStream {
  readonly node: string;
  readonly stream: StreamName;
}

export interface FollowedBy {
  /** Where lines of this stream go. */
  readonly to: (stream: StreamName) => StreamName;
  readonly ended: (stream: FollowedStream, info: OutputInfo | null) => void;
}

/**
 * Lines of many nodes as they come, each with its node's name in front; `MOST_FOLLOWED` streams at once, the next when
 * one has ended.
 */
export async function followNodes(
  call: Call<object>,
  id: string,
  streams: readonly FollowedStream[],
  { to, ended }: FollowedBy,
): Promise<void> {
  if (streams.length > MOST_FOLLOWED) {
    call.out.note(`${MOST_FOLLOWED} of ${streams.length} streams are followed at once, the others as these end`);
  }
  const leave = new AbortController();
  const writers = { stdout: inTurn(call, 'stdout'), stderr: inTurn(call, 'stderr') };
  const read = followedOutput(call, id);
  const waiting = streams.values();
  const follower = async (): Promise<void> => {
    for (const each of waiting) {
      const { node, stream } = each;
      const lines = new NodeLines(node, writers[to(stream)]);
      const info = await read(node, stream, { signal: leave.signal, onData: (data) => lines.push(data) });
      await lines.end();
      ended(each, info);
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(MOST_FOLLOWED, streams.length) }, follower));
  } finally {
    // When one fails the others must not go on.
    leave.abort();
  }
}

/** One writes while the others wait, as only one may wait for a slow reader. */
function inTurn(call: Call<object>, to: StreamName): (data: Uint8Array) => Promise<void> {
  const write = call.out.foreign('text', to);
  let last: Promise<void> = Promise.resolve();
  return (data) => {
    last = last.then(() => write(data));
    return last;
  };
}
