/**
 * Text from a server or a node made safe for a terminal: control characters, which could move the cursor or
 * change its settings, are shown as `\xNN`.
 */
export function printable(text: string): string {
  let safe = '';
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    const control = code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x202a && code <= 0x202e);
    safe += control ? escapeOf(character, code) : character;
  }
  return safe;
}

/** At most `most` characters of a text, the last an ellipsis when something is left out. */
export function shortened(text: string, most: number): string {
  // Never half of a character.
  return text.length <= most ? text : `${text.slice(0, Math.max(0, most - 1)).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** The same for text of several lines, which stay lines. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

function escapeOf(character: string, code: number): string {
  if (character === '\n') return '\\n';
  if (character === '\t') return ' ';
  return code <= 0xff ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
}
