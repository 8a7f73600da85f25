import { Argument, type Command, Option } from 'commander';
import { bashCompletion, fishCompletion, zshCompletion } from '../completion-scripts.js';
import { does, type Shell, subcommand } from '../shell.js';

export function addCompletion(program: Command, shell: Shell): void {
  const command = subcommand(program, {
    usage: 'completion',
    summary: 'completion script for a shell',
    examples: [
      'muster completion bash > /etc/bash_completion.d/muster',
      'muster completion zsh > ~/.zfunc/_muster',
      'muster completion fish > ~/.config/fish/completions/muster.fish',
    ],
  });
  command.addArgument(new Argument('<shell>', 'which shell').choices(['bash', 'zsh', 'fish']));
  command.addOption(new Option('--json', 'the command tree instead').hideHelp());
  does<object>(command, shell, async (call) => {
    const [kind] = call.args;
    const script = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion }[kind as 'bash' | 'zsh' | 'fish'];
    await call.out.raw(Buffer.from(script(program)));
  });
}
