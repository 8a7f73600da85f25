import { placesIn } from './places.js';

/**
 * Which words of a command are run as a program, as that after `sh -c`: a parameter in one would be program, too. Known are the
 * programs of these tables, wherever they stand in a command; what else runs its arguments cannot be known.
 */

type Names = readonly string[];

const SHELLS: Names = ['sh', 'ash', 'bash', 'dash', 'ksh', 'mksh', 'zsh', 'fish', 'csh', 'tcsh', 'su', 'runuser'];
const SHELL_TEXT = /^-[abefhiklmnprstuvxBCEHPT]*c[abefhiklmnprstuvxBCEHPT]*$|^--command$/;

/** Programs that read an argument as a program, by their names without a version, and after which option, or in it. */
const INTERPRETERS: readonly (readonly [names: Names, after: RegExp, within: RegExp])[] = [
  [SHELLS, SHELL_TEXT, /^--command=/],
  [['python', 'pypy'], /^-[A-Za-z]*c$/, /^-[bBdEiIOqsSuvx]*c.*\{\{/],
  [['perl', 'ruby', 'lua'], /^-[A-Za-z]*[eE]$/, /^-[acflnpstuwWX0-9]*[eE].*\{\{/],
  [['node'], /^(?:-e|-p|-pe|--eval|--print)$/, /^--(?:eval|print)=/],
  [['php'], /^-r$/, /^-r/],
  [['env'], /^(?:-[A-Za-z0]*S|--split-string)$/, /^(?:-[A-Za-z0]*S.|--split-string=)/],
];

/** Programs whose first operand is a program, unless options name it; and which options take a word of their own. */
const FIRST_OPERAND: readonly (readonly [names: Names, program: RegExp, within: RegExp, valued: RegExp])[] = [
  [
    ['awk', 'gawk', 'mawk', 'nawk'],
    /^(?:-[efE]|--(?:source|file|exec))$/,
    /^(?:-[efE].|--(?:source|file|exec)=)/,
    /^(?:-[Fvil]|--(?:field-separator|assign|include|load))$/,
  ],
  [
    ['sed', 'gsed'],
    /^(?:-[nrsuzE]*[ef]|--(?:expression|file))$/,
    /^(?:-[nrsuzE]*[ef].|--(?:expression|file)=)/,
    /^(?:-l|--line-length)$/,
  ],
];

/** Options of shells that take a word of their own. */
const VALUED = /^(?:[-+][A-Za-z]*[oO]|--rcfile|--init-file)$/;
const OPTIONS_LAST: Names = ['su', 'runuser'];

/** A script for a shell that begins with what it was given, or has it evaluated. */
const RUNS_ARGUMENTS = /^\s*(?:(?:exec|command|builtin)\s+)*(?:eval\b|"?\$\{?[@*\d])/;

/** Indices of such words; those that have no parameter among them. */
export function programTexts(given: readonly string[]): readonly number[] {
  const { words, origins } = split(given);
  const found = words.flatMap((word, at) => {
    const name = programName(word);
    return [...interpreted(name, words, at), ...firstOperand(name, words, at)];
  });
  return [...new Set([...splitTexts(given), ...found.map((index) => origins[index] ?? index)])].sort((a, b) => a - b);
}

/**
 * Indices of words that are an option of a shell or interpreter by what is given for a parameter: with the right letters the next
 * word is run as a program.
 */
export function openOptions(given: readonly string[]): readonly number[] {
  const { words, origins } = split(given);
  const texts = new Set(words.flatMap((word, at) => interpreted(programName(word), words, at)));
  const found = words.flatMap((word, at) => {
    // After a script stands what it has as $0.
    const name = texts.has(at - 1) ? '' : programName(word);
    const names = INTERPRETERS.find(([all]) => all.includes(name))?.[0];
    if (names === undefined) return [];
    const open = names === SHELLS ? /^[-+][^=]*\{\{/ : /^--?\{\{/;
    return indicesOf(words.slice(0, endOfOptions(name, words, at)), at, open);
  });
  return [...new Set(found.map((index) => origins[index] ?? index))].filter(
    (index) => placesIn(given[index] ?? '').length > 0,
  );
}

/** Where the first operand of a program stands; `su` has options after it, too. */
function endOfOptions(name: string, words: readonly string[], at: number): number {
  const end = words.findIndex(
    (word, index) =>
      index > at &&
      (word === '--' || !(/^[-+]/.test(word) || VALUED.test(words[index - 1] ?? '') || OPTIONS_LAST.includes(name))),
  );
  return end < 0 ? words.length : end;
}

function programName(word: string): string {
  return (word.split('/').at(-1) ?? '').replace(/[0-9.]+$/, '');
}

function interpreted(name: string, words: readonly string[], at: number): number[] {
  const [names, after, within] = INTERPRETERS.find(([all]) => all.includes(name)) ?? [];
  if (names === undefined || after === undefined || within === undefined) return [];
  const options = indicesOf(words, at, after);
  const texts = names === SHELLS ? options.slice(0, 1).flatMap((index) => shellTexts(words, index)) : options.map(next);
  return [...texts, ...indicesOf(words, at, within)].filter((index) => index < words.length);
}

/** The script after `-c`, which further options may precede, and the arguments that it runs. */
function shellTexts(words: readonly string[], option: number): number[] {
  const text = words.findIndex(
    (word, index) => index > option && !/^[-+]/.test(word) && !/^[-+][A-Za-z]*[oO]$/.test(words[index - 1] ?? ''),
  );
  if (text < 0) return [];
  const runs = RUNS_ARGUMENTS.test(words[text] ?? '');
  return [text, ...words.flatMap((word, index) => (runs && index > text && placesIn(word).length > 0 ? [index] : []))];
}

function firstOperand(name: string, words: readonly string[], at: number): number[] {
  const [, program, within, valued] = FIRST_OPERAND.find(([names]) => names.includes(name)) ?? [];
  if (program === undefined || within === undefined || valued === undefined) return [];
  const named = [...indicesOf(words, at, program).map(next), ...indicesOf(words, at, within)];
  if (named.length > 0) return named.filter((index) => index < words.length);
  const first = words.findIndex(
    (word, index) => index > at && !/^-./.test(word) && !valued.test(words[index - 1] ?? ''),
  );
  return first < 0 ? [] : [first];
}

/** What `env -S` splits is words of the command. */
function split(given: readonly string[]): { readonly words: readonly string[]; readonly origins: readonly number[] } {
  const texts = new Set(splitTexts(given));
  const all = given.flatMap((word, origin) =>
    (texts.has(origin) ? word.replace(/^(?:-[A-Za-z0]*S|--split-string=)/, '').split(/\s+/) : [word]).map((each) => ({
      each,
      origin,
    })),
  );
  return { words: all.map(({ each }) => each), origins: all.map(({ origin }) => origin) };
}

function splitTexts(given: readonly string[]): number[] {
  return given.flatMap((word, at) => (word.split('/').at(-1) === 'env' ? interpreted('env', given, at) : []));
}

function indicesOf(words: readonly string[], at: number, option: RegExp): number[] {
  return words.flatMap((word, index) => (index > at && option.test(word) ? [index] : []));
}

const next = (index: number): number => index + 1;
