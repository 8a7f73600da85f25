import { quote } from '@muster/platform/ssh';
import type { ArgumentValue } from './values.js';

/** Where in a shell script something stands. */
type Quoting = 'none' | 'double' | 'single';

const NAME = /^\$\{([A-Za-z_]\w*)\}/;

/**
 * A template of an app, in which `${ID}` stands for what the program gets for it. No value becomes part of the script: it is a
 * variable of the environment, and only the words that the app's definition has for it (its argument, quotes) are put
 * around the variable. Whatever a value holds, and whatever quotes stand around it, it is never a command.
 */
export function filledTemplate(text: string, values: readonly ArgumentValue[]): string {
  const byId = new Map(values.map((value) => [value.id, value]));
  let made = '';
  let quoting: Quoting = 'none';
  for (let at = 0; at < text.length; ) {
    const rest = text.slice(at, at + 80);
    const [whole, id = ''] = NAME.exec(rest) ?? [];
    const value = byId.get(id);
    if (whole !== undefined && value !== undefined) {
      made += reference(value, quoting);
      at += whole.length;
      continue;
    }
    const { length, next } = step(text, at, quoting);
    made += text.slice(at, at + length);
    at += length;
    quoting = next;
  }
  return made;
}

/** One character, an escaped one, or a comment. */
function step(text: string, at: number, quoting: Quoting): { readonly length: number; readonly next: Quoting } {
  const char = text[at];
  if (quoting === 'single') return { length: 1, next: char === "'" ? 'none' : 'single' };
  if (char === '\\') return { length: 2, next: quoting };
  if (char === '"') return { length: 1, next: quoting === 'double' ? 'none' : 'double' };
  if (quoting === 'double') return { length: 1, next: 'double' };
  if (char === "'") return { length: 1, next: 'single' };
  if (char === '#' && (at === 0 || /\s/.test(text[at - 1] ?? ''))) {
    const end = text.indexOf('\n', at);
    return { length: (end === -1 ? text.length : end) - at, next: 'none' };
  }
  return { length: 1, next: 'none' };
}

/** Only names of variables, and words of the app's definition. */
function reference({ id, values, argument, repeat, enquote }: ArgumentValue, quoting: Quoting): string {
  if (values.length === 0) return '';
  if (quoting === 'double') return `\${${id}}`;
  if (quoting === 'single') return `'"\${${id}}"'`;
  const before = argumentWords(argument);
  if (repeat && values.length > 1) {
    return values.map((_, index) => `${before}"\${${valueName(id, index)}}"`).join(' ');
  }
  return `${before}${enquote ? `"\${${id}}"` : `\${${id}}`}`;
}

/** Words of the definition, each quoted; a space at its end stays one. */
function argumentWords(argument: string): string {
  const words = argument.trim() === '' ? [] : argument.trim().split(/\s+/);
  return words.map(quote).join(' ') + (words.length > 0 && /\s$/.test(argument) ? ' ' : '');
}

/** Variable of one of several values. */
function valueName(id: string, index: number): string {
  return `MUSTER_VALUE_${index + 1}_${id}`;
}

/** Variables of all values: of each by its id, and one by one where there are several. */
export function valueVariables(values: readonly ArgumentValue[]): Readonly<Record<string, string>> {
  const variables: [string, string][] = values.flatMap(({ id, values: texts }) => [
    [id, texts.join(' ')] as [string, string],
    ...(texts.length > 1 ? texts.map((text, index): [string, string] => [valueName(id, index), text]) : []),
  ]);
  return Object.fromEntries(variables);
}
