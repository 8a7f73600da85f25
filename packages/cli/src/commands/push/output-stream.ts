import { MusterError } from '@muster/wire';
import type { Call } from '../../shell.js';

export type StreamName = 'stdout' | 'stderr';

/** What the server says about an output besides its bytes. */
export interface OutputInfo {
  /** Bytes that were written by the command but not kept: the middle of a very long output. */
  readonly dropped: number;
  /** False while the command may still write. */
  readonly complete: boolean;
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
    return {
      dropped: Number(response.headers.get('x-muster-dropped-bytes') ?? 0),
      complete: response.headers.get('x-muster-complete') !== 'false',
    };
  } catch (error) {
    if (error instanceof MusterError && error.status === 404) return null;
    throw error;
  }
}
