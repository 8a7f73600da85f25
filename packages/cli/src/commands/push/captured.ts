import { createHash } from 'node:crypto';
import type { StreamName } from '../../output.js';
import type { Call } from '../../shell.js';
import { storedOutput } from './output-stream.js';

const MOST_BYTES = 16 * 1024;

export interface Captured {
  readonly text: string;
  readonly cut: boolean;
  /** Of all that is kept. */
  readonly sha256: string;
}

/** Captured output of one stream, cut for a person to read. */
export async function capturedText(
  call: Call<object>,
  id: string,
  node: string,
  stream: StreamName,
  most = MOST_BYTES,
): Promise<Captured | null> {
  const chunks: Uint8Array[] = [];
  const hash = createHash('sha256');
  let kept = 0;
  let total = 0;
  const info = await storedOutput(call, id)(node, stream, {
    onData: (data) => {
      total += data.length;
      hash.update(data);
      if (kept < most) chunks.push(data.subarray(0, most - kept));
      kept = Math.min(total, most);
    },
  });
  if (info === null) return null;
  return {
    text: Buffer.concat(chunks).toString('utf8'),
    cut: total > most || info.dropped > 0 || info.missing !== null,
    sha256: hash.digest('hex'),
  };
}
