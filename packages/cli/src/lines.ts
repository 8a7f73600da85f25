import { createReadStream } from 'node:fs';
import { MusterError } from './errors.js';

const LF = 10;

/** A line of a file, and which it is. */
export interface FileLine {
  readonly line: number;
  readonly text: string;
}

/**
 * Lines of a file (`-`: of `stdin`) that say something, one at a time in memory.
 * @param most Bytes of a line.
 * @throws MusterError `usage` when it cannot be read, or has a line that is too long.
 */
export async function* linesOfFile(
  path: string,
  most: number,
  stdin?: AsyncIterable<Uint8Array>,
): AsyncGenerator<FileLine> {
  const name = path === '-' ? 'stdin' : path;
  const bytes: AsyncIterable<Uint8Array> = path === '-' && stdin !== undefined ? stdin : createReadStream(path);
  let begun: Uint8Array[] = [];
  let length = 0;
  let line = 1;
  const ended = (rest: Uint8Array): FileLine => {
    const whole = begun.length === 0 ? Buffer.from(rest) : Buffer.concat([...begun, rest]);
    begun = [];
    length = 0;
    return { line: line++, text: whole.toString('utf8') };
  };
  try {
    for await (const piece of bytes) {
      let from = 0;
      for (let end = piece.indexOf(LF); end >= 0; end = piece.indexOf(LF, from)) {
        const found = ended(piece.subarray(from, end));
        from = end + 1;
        if (found.text.trim() !== '') yield found;
      }
      if (from === piece.length) continue;
      begun.push(piece.subarray(from));
      length += piece.length - from;
      if (length > most) throw new MusterError('usage', { reason: `${name}, line ${line}: it is too long` });
    }
  } catch (error) {
    if (error instanceof MusterError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new MusterError('usage', { reason: `cannot read ${name}: ${reason}` }, { cause: error });
  }
  if (length > 0) {
    const found = ended(new Uint8Array());
    if (found.text.trim() !== '') yield found;
  }
}
