const two = (value: number): string => String(value).padStart(2, '0');

/** `19:59`, where the browser is. */
export function timeOfDay(at: number): string {
  const date = new Date(at);
  return `${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** `19:59:18` */
export function secondOfDay(at: number): string {
  return `${timeOfDay(at)}:${two(new Date(at).getSeconds())}`;
}

/** `2026-11-28 19:59:18`, as all times are shown that are not told as ages; –: it is none. */
export function timeText(at: number): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return '–';
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${secondOfDay(at)}`;
}

/** A piece of a sentence of the server: text, or a time, whose age may stand behind it. */
export type Piece = string | { readonly at: number; readonly aged: boolean };

/** The times in a sentence of the server, which tells them as ISO 8601 and how long ago they were when it was said. */
export function piecesOf(said: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const { 0: whole, 1: time = '', 2: age, index } of said.matchAll(
    /\b(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)( \(\d+ (?:ms|s|min|h|d)\))?/g,
  )) {
    pieces.push(said.slice(from, index), { at: Date.parse(time), aged: age !== undefined });
    from = index + whole.length;
  }
  return [...pieces, said.slice(from)].filter((piece) => piece !== '');
}
