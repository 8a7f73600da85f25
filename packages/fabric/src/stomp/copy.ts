/** For so few bytes a loop is faster than a call out of JavaScript. */
const FEW = 40;

/** Copies bytes from one place into another. @returns where the next may go. */
export function copyInto(into: Uint8Array, at: number, from: Uint8Array, start: number, end: number): number {
  const size = end - start;
  if (size > FEW) into.set(new Uint8Array(from.buffer, from.byteOffset + start, size), at);
  else for (let index = 0; index < size; index++) into[at + index] = from[start + index] as number;
  return at + size;
}
