/** A word as a POSIX shell takes it. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** `muster` with these words; those that are not given are left out. */
export function musterCommand(...words: readonly (string | null | undefined | false)[]): string {
  return ['muster', ...words.filter((word): word is string => typeof word === 'string').map(quoted)].join(' ');
}
