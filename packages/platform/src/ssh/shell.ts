/**
 * The only place where words become a line for a POSIX shell: what a word holds never matters to the shell.
 * @throws TypeError for a zero byte, which no argument can hold.
 */
export function quote(word: string): string {
  if (word.includes('\0')) throw new TypeError('an argument cannot hold a zero byte');
  return /^[\w%+,./:=@-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** A command line of these words. */
export function commandLine(argv: readonly string[]): string {
  return argv.map(quote).join(' ');
}
