/** What a selector that is typed may go on with: the whole text with each word or value. Pure. */

const MOST = 8;
const PLAIN = /^[\w.-]+$/;

export interface Vocabulary {
  /** Attributes, types. */
  readonly words: readonly string[];
  /** Values that an attribute has, for what stands after the colon. */
  readonly valuesOf?: (attribute: string) => readonly string[];
}

export function completions(text: string, { words, valuesOf }: Vocabulary): readonly string[] {
  const [, attribute, begun = ''] = /([\w.$-]+):([\w.-]*)$/.exec(text) ?? [];
  if (attribute !== undefined && valuesOf !== undefined) {
    const fitting = valuesOf(attribute).filter((value) => value.startsWith(begun) && value !== begun);
    return ended(text, begun, fitting.flatMap(written));
  }
  const last = /[\w.$-]*$/.exec(text)?.[0] ?? '';
  if (last === '') return [];
  return ended(
    text,
    last,
    words.filter((word) => word.startsWith(last) && word !== last),
  );
}

function ended(text: string, begun: string, ends: readonly string[]): readonly string[] {
  const before = text.slice(0, text.length - begun.length);
  return ends.slice(0, MOST).map((end) => before + end);
}

/** As it is written after a colon; nothing: it would have to be escaped. */
function written(value: string): readonly string[] {
  if (PLAIN.test(value)) return [value];
  return /["\\*?]/.test(value) ? [] : [`"${value}"`];
}
