/**
 * Characters that would change how the text around them is read: controls, marks of direction, what takes no room. They
 * are shown by their numbers, so that a name or an output is what it seems.
 */
const HIDDEN = new RegExp(
  `[${ranges([0, 8], [0x0b, 0x1f], [0x7f, 0x9f], [0x200b, 0x200f], [0x2028, 0x202e], [0x2060, 0x2069], [0xfff9, 0xfffb])}\u061c\ufeff]`,
  'g',
);

function ranges(...pairs: readonly (readonly [number, number])[]): string {
  const one = (code: number) => `\\u${code.toString(16).padStart(4, '0')}`;
  return pairs.map(([from, to]) => `${one(from)}-${one(to)}`).join('');
}

export function safeText(text: string): string {
  return text.replace(HIDDEN, (character) => {
    return `\u2039U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}\u203a`;
  });
}
