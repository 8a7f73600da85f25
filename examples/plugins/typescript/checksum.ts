/**
 * The SHA-256 of a file. A module plugin: warm processes of the agent load it once and call `run` for each task.
 *
 *     npx tsc --module nodenext --target es2023 checksum.ts        # makes checksum.js; call it checksum.mjs
 *
 * agent.yaml:
 *   tasks:
 *     plugins:
 *       checksum: { module: /opt/plugins/checksum.mjs, concurrency: 8 }
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { RunTask } from '@muster/plugin';

interface Params {
  readonly file: string;
  /** The task fails when the sum is another one. */
  readonly expected?: string;
}

export const run: RunTask<Params> = async ({ params }, { signal, log, progress }) => {
  // Parameters are what somebody typed: what is relied on is checked.
  if (typeof params.file !== 'string') return { status: 2, stderr: 'params.file must be the path of a file\n' };
  const { size } = await stat(params.file);
  log(`${params.file} has ${size} bytes`);

  const hash = createHash('sha256');
  let done = 0;
  // Ends with an error when the task is cancelled or its time is over.
  for await (const piece of createReadStream(params.file, { signal })) {
    hash.update(piece);
    done += piece.length;
    progress(done / size, `${done} of ${size} bytes`);
  }

  const sum = hash.digest('hex');
  if (params.expected !== undefined && params.expected !== sum) {
    // Perhaps somebody is still writing it: worth another try.
    return { retry: true, stdout: `${sum}\n`, stderr: `expected ${params.expected}\n` };
  }
  return { stdout: `${sum}\n` };
};
