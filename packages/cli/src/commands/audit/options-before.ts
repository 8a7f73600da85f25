import type { Command } from 'commander';
import { MusterError } from '../../errors.js';
import { pathOfCommand } from '../../shell.js';

/** They may stand before the first word of a command line, too: see `withCommonFlags`. */
const ANYWHERE: ReadonlySet<string> = new Set(['config', 'context', 'ca', 'json']);

/** Of a command that works by itself and has others below it: its options that stand before one of these count for that one, or are refused. */
export function readOptionsBefore(command: Command): void {
  command.hook('preSubcommand', (_, below) => {
    for (const option of command.options) {
      const name = option.attributeName();
      if (ANYWHERE.has(name) || command.getOptionValueSource(name) !== 'cli') continue;
      if (below.options.every((one) => one.attributeName() !== name)) {
        const reason = `\`${pathOfCommand(below)}\` takes no ${option.long}: leave it out, or use it with \`${pathOfCommand(command)}\` alone`;
        throw new MusterError('usage', { reason });
      }
      below.setOptionValueWithSource(name, command.getOptionValue(name), 'cli');
    }
  });
}
