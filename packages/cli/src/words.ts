/**
 * What means something to a shell, also to one that is bash: characters anywhere, a tilde where a home directory may
 * stand, braces around something. A word with any of it is quoted when words are joined.
 */
const NEEDS_QUOTES = /[\s'"$;&|<>()`\\*?#!]|(^|[=:])~|\{(?!\})/;

/**
 * The command of a job from the words typed after `--`. One word is taken as it is, so that
 * `-- 'a; b'` is the requester's own shell text. Several words keep their boundaries: `-- sh -c 'exit 3'`
 * becomes `sh -c 'exit 3'`, and nothing that was one word is ever split again.
 */
export function joinWords(words: readonly string[]): string {
  const [only, ...more] = words;
  if (only !== undefined && more.length === 0) return only;
  return words.map(quote).join(' ');
}

function quote(word: string): string {
  if (word !== '' && !NEEDS_QUOTES.test(word)) return word;
  return `'${word.replaceAll("'", "'\\''")}'`;
}
