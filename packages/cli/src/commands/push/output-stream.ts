import { MusterError } from '../../errors.js';
import type { StreamName } from '../../output.js';
import type { Call } from '../../shell.js';

/** What the server says about an output besides its bytes. */
export interface OutputInfo {
  /** Bytes that were written by the command but not kept: the middle of a very long output. */
  readonly dropped: number;
  /** False while the command may still write, and when something else than the middle of too much is missing. */
  readonly complete: boolean;
  /** Why output of a command that has ended is not complete. */
  readonly missing: string | null;
}

/**
 * Hands over the bytes of one stream of one node as they arrive; null when the server has none. With `follow`
 * it goes on until the command has ended.
 */
export async function readOutput(
  call: Call<object>,
  id: string,
  node: string,
  stream: StreamName,
  options: {
    readonly follow: boolean;
    readonly onData: (data: Uint8Array) => Promise<void> | void;
    readonly signal?: AbortSignal;
  },
): Promise<OutputInfo | null> {
  const path = call.client.inOrg('pushy', 'jobs', id, 'output', node, stream);
  try {
    const response = await call.client.send('GET', path, {
      accept: 'application/octet-stream',
      endless: true,
      ...(options.signal !== undefined && { signal: options.signal }),
      ...(options.follow ? { query: { follow: true } } : {}),
    });
    for await (const chunk of response.body ?? []) await options.onData(chunk);
    return infoOf(options.follow ? await endOf(call, path) : response);
  } catch (error) {
    if (error instanceof MusterError && error.status === 404) return null;
    throw error;
  }
}

/** What was followed has its headers from before its end: they are asked for again, without the bytes. */
async function endOf(call: Call<object>, path: string): Promise<Response> {
  const response = await call.client.send('GET', path, {
    accept: 'application/octet-stream',
    endless: true,
    query: { from: Number.MAX_SAFE_INTEGER },
  });
  await response.body?.cancel();
  return response;
}

function infoOf({ headers }: Response): OutputInfo {
  return {
    dropped: Number(headers.get('x-muster-dropped-bytes') ?? 0),
    complete: headers.get('x-muster-complete') !== 'false',
    missing: headers.get('x-muster-missing'),
  };
}
