/** Where parameters stand in the texts of a saved command: `{{name}}`. Anything else between braces is text. */
const PLACE = /\{\{ ?([a-z][a-z0-9_]*) ?\}\}/g;

export function placesIn(text: string): string[] {
  return [...text.matchAll(PLACE)].map(([, name = '']) => name);
}

/** By name; a parameter that may be left out, and was, is not among them. */
export type Values = ReadonlyMap<string, string>;

/** In one pass: a value that looks like a place is text. */
export function fill(text: string, values: Values): string {
  return text.replace(PLACE, (_, name: string) => values.get(name) ?? '');
}

/** A word that is nothing but a parameter which was left out is left out, too. */
export function fillWords(words: readonly string[], values: Values): string[] {
  return words
    .filter((word) => {
      const [name, ...more] = placesIn(word);
      const alone = name !== undefined && more.length === 0 && word.replace(PLACE, '') === '';
      return !alone || values.has(name);
    })
    .map((word) => fill(word, values));
}
