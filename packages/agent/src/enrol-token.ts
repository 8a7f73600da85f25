import { open } from 'node:fs/promises';
import { MusterError } from './errors.js';
import { ENROL_TOKEN_BYTES } from './limits.js';
import type { AgentLog } from './logging.js';

/**
 * The enrolment token in this file; null when there is no such file, for it is needed once and may go then. Whoever can
 * see a process's arguments and environment does not see it.
 * Throws `invalid_configuration` when the file cannot be read or holds no token.
 */
export async function readEnrolToken(path: string, logger: AgentLog): Promise<string | null> {
  try {
    const file = await open(path, 'r');
    try {
      const { mode } = await file.stat();
      if ((mode & 0o077) !== 0)
        logger.warn({ path }, 'others can read the enrolment token; run: chmod 600 on its file');
      const { buffer, bytesRead } = await file.read(Buffer.alloc(ENROL_TOKEN_BYTES + 1), 0);
      return tokenOf(buffer.toString('utf8', 0, bytesRead), path);
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    if (error instanceof MusterError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new MusterError('invalid_configuration', { reason: `enrolment token: ${why}` }, { cause: error });
  }
}

/** One word. Throws `invalid_configuration` when `text`, which came from `source`, is none. */
export function tokenOf(text: string, source: string): string {
  const token = text.trim();
  if (token !== '' && token.length <= ENROL_TOKEN_BYTES && !/\s/.test(token)) return token;
  throw new MusterError('invalid_configuration', { reason: `enrolment token: ${source} does not hold one token` });
}
