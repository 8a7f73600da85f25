import { constants, open } from 'node:fs/promises';
import { SCRIPT_HEAD_BYTES } from '@muster/base';

/** The beginning of a script, which says what runs it. */
export async function headOf(path: string): Promise<Uint8Array> {
  // Of a pipe there is none, and it is not waited for.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(SCRIPT_HEAD_BYTES), 0, SCRIPT_HEAD_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}
