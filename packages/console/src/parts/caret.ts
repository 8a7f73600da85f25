/** The text around a place, and a mark below it: two lines of at most so many characters. */
export function caretUnder(text: string, position: number, width = 44): string {
  const line = text.replace(/\s/g, ' ');
  const start = Math.max(0, Math.min(position - Math.floor(width / 2), line.length - width));
  const cut = line.slice(start, start + width);
  return `${cut}\n${' '.repeat(Math.max(0, position - start))}▲`;
}
