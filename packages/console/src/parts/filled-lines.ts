/** Lines with something in them, by their numbers. */
export function filledLines(text: string): readonly (readonly [at: number, line: string])[] {
  return text.split('\n').flatMap((line, at) => (line.trim() === '' ? [] : [[at + 1, line.trim()] as const]));
}
