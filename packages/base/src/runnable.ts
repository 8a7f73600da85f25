/** What a kernel runs: a line that names the interpreter, or a program. */
const BEGINNINGS = ['#!', '\x7fELF'];

/** Whether a script can be run by itself: its first four bytes say it. */
export function isRunnable(script: Uint8Array): boolean {
  const beginning = Buffer.from(script.subarray(0, 4)).toString('latin1');
  return BEGINNINGS.some((begins) => beginning.startsWith(begins));
}
