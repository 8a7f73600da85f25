import type { Command } from 'commander';
import { MusterError } from '../../errors.js';
import { pathOfCommand, type Shell } from '../../shell.js';
import { joinWords } from '../../words.js';

/**
 * `push start role:web uname -a` is the seed's form (Push Jobs §1.1), as long as the command has no options: these cannot
 * be told from those of muster. Says so, with the line as it should be.
 *
 * @param before How many operands stand before the command, by the flags that were typed.
 */
export function commandAfterDashes(
  command: Command,
  shell: Shell,
  before: (flags: ReadonlySet<string>) => number,
): void {
  command.exitOverride((error) => {
    if (error.code !== 'commander.unknownOption' || shell.words !== undefined) throw error;
    const reason = error.message.replace(/^error: /, '').replaceAll('\n', ' ');
    throw new MusterError('command_without_dashes', { reason, line: corrected(command, shell.typed, before) });
  });
}

function corrected(command: Command, typed: readonly string[], before: (flags: ReadonlySet<string>) => number): string {
  const start = afterPath(command, typed);
  const { operands, flags } = untilUnknown(command, typed, start);
  const begin = operands[before(flags)];
  if (begin === undefined) return `${pathOfCommand(command)} ${command.usage()}`;
  const words = [...typed.slice(0, begin), '--', ...typed.slice(begin)];
  return `muster ${joinWords(words)}`;
}

/** The index of the first word behind `push start`. */
function afterPath(command: Command, typed: readonly string[]): number {
  const parent = typed.indexOf(command.parent?.name() ?? '');
  return typed.indexOf(command.name(), parent + 1) + 1;
}

/** Reads words as the parser does, up to the option that it does not know: the indices of operands, and the flags. */
function untilUnknown(command: Command, typed: readonly string[], start: number) {
  const operands: number[] = [];
  const flags = new Set<string>();
  for (let at = start; at < typed.length; at++) {
    const word = typed[at] ?? '';
    if (!word.startsWith('-')) {
      operands.push(at);
      continue;
    }
    const [name = ''] = word.split('=', 1);
    const option = command.options.find(({ long, short }) => long === name || short === name);
    if (option === undefined) break;
    flags.add(option.attributeName());
    if (!option.required || word.includes('=')) continue;
    at += 1;
    while (option.variadic && at + 1 < typed.length && !typed[at + 1]?.startsWith('-')) at += 1;
  }
  return { operands, flags };
}
