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

/** As ISO 8601 has it, and how long ago that was when it was said. */
const TOLD = /\b(\d{4}-\d\d-\d\dT[\d:.]+Z)( \(\d+ (?:ms|s|min|h|d)\))?/g;

/** The times in a sentence of the server. */
export function piecesOf(said: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const { 0: whole, 1: time = '', 2: age, index } of said.matchAll(TOLD)) {
    const at = Date.parse(time);
    if (Number.isNaN(at)) continue;
    pieces.push(said.slice(from, index), { at, aged: age !== undefined });
    from = index + whole.length;
  }
  return [...pieces, said.slice(from)].filter((piece) => piece !== '');
}
