import type { StreamName } from '../../output.js';
import {
  followedStream,
  type OutputInfo,
  type OutputPlace,
  type OutputReader,
  storedStream,
} from '../../output-stream.js';
import type { Call } from '../../shell.js';

export type { OutputInfo };

/** Hands over the bytes of one stream of one node as they arrive; null when the server has none. */
export type ReadOutput = (node: string, stream: StreamName, reader: OutputReader) => Promise<OutputInfo | null>;

/** What is stored now. */
export function storedOutput(call: Call<object>, id: string): ReadOutput {
  const read = storedStream(call);
  return (node, stream, reader) => read(placeOf(call, id, node, stream), reader);
}

/** What is stored, and then what comes, until the command has ended. */
export function followedOutput(call: Call<object>, id: string): ReadOutput {
  const read = followedStream(call, 'job');
  return (node, stream, reader) => read(placeOf(call, id, node, stream), reader);
}

function placeOf({ client }: Call<object>, id: string, node: string, stream: StreamName): OutputPlace {
  const path = client.inOrg('pushy', 'jobs', id, 'output', node, stream);
  return { path, again: `muster push output ${id}` };
}
