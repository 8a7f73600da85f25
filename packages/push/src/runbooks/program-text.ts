/** Programs that read an argument as a program, by their names without a version, and after which option. */
const INTERPRETERS: readonly (readonly [names: readonly string[], option: RegExp])[] = [
  [
    ['sh', 'ash', 'bash', 'dash', 'ksh', 'mksh', 'zsh', 'fish', 'csh', 'tcsh', 'su', 'runuser'],
    /^-[A-Za-z]*c$|^--command$/,
  ],
  [['python', 'pypy'], /^-[A-Za-z]*c$/],
  [['perl', 'ruby', 'lua'], /^-[A-Za-z]*[eE]$/],
  [['node'], /^(?:-e|-p|-pe|--eval|--print)$/],
  [['php'], /^-r$/],
];

/**
 * Which words of a command an interpreter reads as a program, as that after `sh -c`: a parameter in one would be program, too. What
 * reads its arguments so otherwise, such as a script with `eval`, cannot be known.
 */
export function programTexts(words: readonly string[]): readonly number[] {
  return words.flatMap((word, at) => {
    const name = (word.split('/').at(-1) ?? '').replace(/[0-9.]+$/, '');
    const [, option] = INTERPRETERS.find(([names]) => names.includes(name)) ?? [];
    if (option === undefined) return [];
    const given = words.findIndex((each, index) => index > at && option.test(each));
    return given < 0 || given + 1 >= words.length ? [] : [given + 1];
  });
}
