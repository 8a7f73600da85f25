/**
 * Control and format characters, line and paragraph separators, halves of characters: what is not seen, or changes the
 * direction of text, which then reads otherwise than it is.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
/** The same, but for tabs: what a command writes has columns. */
const UNPRINTABLE_IN_LINES = /(?!\t)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/**
 * Text from a server or a node made safe for a terminal: control characters, which could move the cursor or
 * change its settings, are shown as `\xNN`, and those that are not seen or turn the direction of text as `\uNNNN`.
 */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, escapeOf);
}

/** At most `most` characters of a text, the last an ellipsis when something is left out. */
export function shortened(text: string, most: number): string {
  // Never half of a character.
  return text.length <= most ? text : `${text.slice(0, Math.max(0, most - 1)).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** The same for what a command wrote: lines stay lines, and tabs are kept. */
export function printableLines(text: string): string {
  return text
    .split('\n')
    .map((line) => line.replace(UNPRINTABLE_IN_LINES, escapeOf))
    .join('\n');
}

function escapeOf(character: string): string {
  if (character === '\n') return '\\n';
  if (character === '\t') return ' ';
  const digits = (character.codePointAt(0) ?? 0).toString(16);
  if (digits.length <= 2) return `\\x${digits.padStart(2, '0')}`;
  return digits.length <= 4 ? `\\u${digits.padStart(4, '0')}` : `\\u{${digits}}`;
}
