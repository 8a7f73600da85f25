/**
 * Splits a command line of the node's owner into words, as a shell would, but without expanding or running anything:
 * spaces separate, '…' is literal, "…" may hold \" and \\, a backslash outside quotes takes the next character literally.
 * `$1`…`$99` and `$0` stand for captures of the pattern, outside '…'; `$$` and `\$` are a dollar.
 */
export type Part = { readonly text: string } | { readonly capture: number };

/** A word; captures are put in after splitting, so they are never split again. */
export type Word = readonly Part[];

export class WordsError extends Error {
  override readonly name = 'WordsError';
}

const PLACEHOLDER = /^\$(\d{1,2})/;

export function splitWords(line: string): readonly Word[] {
  const words: Word[] = [];
  let parts: Part[] = [];
  let text = '';
  /** A word has begun; it may still be empty, as in ''. */
  let begun = false;
  let quote: '"' | "'" | null = null;

  const literal = (piece: string): void => {
    begun = true;
    text += piece;
  };
  const flushText = (): void => {
    if (text !== '') parts.push({ text });
    text = '';
  };
  const endWord = (): void => {
    flushText();
    if (begun) words.push(parts);
    parts = [];
    begun = false;
  };

  for (let at = 0; at < line.length; at += 1) {
    const char = line.charAt(at);
    const next = line.charAt(at + 1);
    if (quote === "'") {
      if (char === "'") quote = null;
      else literal(char);
    } else if (char === '\\') {
      if (next === '') throw new WordsError('it ends with a backslash');
      const kept = quote === null || next === '"' || next === '\\' || next === '$' ? next : `\\${next}`;
      literal(kept);
      at += 1;
    } else if (char === '$' && next === '$') {
      literal('$');
      at += 1;
    } else if (char === '$' && PLACEHOLDER.test(line.slice(at, at + 3))) {
      const digits = PLACEHOLDER.exec(line.slice(at, at + 3))?.[1] ?? '0';
      literal('');
      flushText();
      parts.push({ capture: Number(digits) });
      at += digits.length;
    } else if (quote === '"') {
      if (char === '"') quote = null;
      else literal(char);
    } else if (char === '"' || char === "'") {
      quote = char;
      literal('');
    } else if (/\s/.test(char)) {
      endWord();
    } else {
      literal(char);
    }
  }
  if (quote !== null) throw new WordsError(`the ${quote} is not closed`);
  endWord();
  return words;
}

/** A word given as it is, in an argument list: only placeholders are special. */
export function argumentWord(argument: string): Word {
  const parts: Part[] = [];
  let text = '';
  for (let at = 0; at < argument.length; at += 1) {
    const rest = argument.slice(at, at + 3);
    const digits = PLACEHOLDER.exec(rest)?.[1];
    if (rest.startsWith('$$')) {
      text += '$';
      at += 1;
    } else if (digits !== undefined) {
      if (text !== '') parts.push({ text });
      text = '';
      parts.push({ capture: Number(digits) });
      at += digits.length;
    } else {
      text += argument.charAt(at);
    }
  }
  if (text !== '') parts.push({ text });
  return parts;
}

/** Highest capture a word asks for; -1 for none. */
export function highestCapture(words: readonly Word[]): number {
  let highest = -1;
  for (const part of words.flat()) if ('capture' in part) highest = Math.max(highest, part.capture);
  return highest;
}

/**
 * Fills captures in. A word that is nothing but a capture which did not take part in the match is left out, so that
 * an optional group gives an optional argument.
 */
export function fillWords(words: readonly Word[], captures: readonly (string | undefined)[]): string[] {
  return words
    .filter((word) => {
      const only = word.length === 1 ? word[0] : undefined;
      return only === undefined || !('capture' in only) || captures[only.capture] !== undefined;
    })
    .map((word) => word.map((part) => ('text' in part ? part.text : (captures[part.capture] ?? ''))).join(''));
}
