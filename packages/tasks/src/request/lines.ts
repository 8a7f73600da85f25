const LF = 10;

/** A line is longer than it may be. */
export class LineTooLong extends Error {}

/**
 * Lines of a body that comes in pieces, without their ends; one at a time is in memory.
 * @param most Bytes of a line.
 * @throws LineTooLong
 */
export async function* linesOf(pieces: AsyncIterable<Buffer>, most: number): AsyncGenerator<Buffer> {
  let begun: Buffer[] = [];
  let length = 0;
  for await (const piece of pieces) {
    let from = 0;
    for (let end = piece.indexOf(LF); end >= 0; end = piece.indexOf(LF, from)) {
      const rest = piece.subarray(from, end);
      if (length + rest.length > most) throw new LineTooLong();
      yield length === 0 ? rest : Buffer.concat([...begun, rest]);
      begun = [];
      length = 0;
      from = end + 1;
    }
    if (from === piece.length) continue;
    begun.push(piece.subarray(from));
    length += piece.length - from;
    if (length > most) throw new LineTooLong();
  }
  if (length > 0) yield Buffer.concat(begun);
}
