import type { Command } from 'commander';

/** Commands that do something by themselves, as `audit` does beside those below it; hidden ones not. */
export function commandsOf(command: Command): Command[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .filter((child) => child.name() !== 'help')
    .flatMap((child) => [...(acts(child) ? [child] : []), ...commandsOf(child)]);
}

function acts(command: Command): boolean {
  return command.options.some(({ long }) => long === '--json');
}
