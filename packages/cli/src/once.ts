import { Command, type Option } from 'commander';
import { MusterError } from './errors.js';

/** Refuses a flag with a value that is given twice, unless it gathers them: the parser would take the last, and say nothing. */
export class OnceCommand extends Command {
  override createCommand(name?: string): Command {
    return new OnceCommand(name);
  }

  override addOption(option: Option): this {
    super.addOption(option);
    if (!takesOne(option)) return this;
    let given = false;
    return this.on(`option:${option.name()}`, () => {
      if (given)
        throw new MusterError('usage', { reason: `${option.long ?? option.flags} is given twice: it takes one value` });
      given = true;
    });
  }
}

function takesOne({ required, optional, variadic, argChoices, parseArg }: Option): boolean {
  // A parser that takes what came before gathers.
  const gathers = variadic || (argChoices === undefined && parseArg !== undefined && parseArg.length > 1);
  return (required || optional) && !gathers;
}
