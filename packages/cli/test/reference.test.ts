import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { createProgram } from '../src/program.js';
import { commandReference } from '../src/reference.js';
import { pathOfCommand } from '../src/shell.js';
import { testWorld } from './support/world.js';

function runnable(command: Command): Command[] {
  const children = command.createHelp().visibleCommands(command);
  const below = children.filter((child) => child.name() !== 'help').flatMap(runnable);
  return below.length === 0 ? [command] : below;
}

test('the reference has every command that can be run with every flag, however deep it stands', async () => {
  const program = await createProgram(
    { world: testWorld(), typed: [], words: undefined, exitCode: 0 },
    { serverFlags: true },
  );
  const sections = (await commandReference()).split(/^##+ /m);
  const commands = runnable(program);
  expect(commands.map(pathOfCommand)).toContain('muster event durable rm');
  for (const command of commands) {
    const path = pathOfCommand(command);
    const section = sections.find((each) => each.startsWith(`${path}\n`)) ?? '';
    for (const { flags, hidden } of command.options) {
      if (!hidden) expect(section, `${path} ${flags}`).toContain(`\`${flags.replaceAll('|', '\\|')}\``);
    }
    expect(section, path).toContain('Examples:');
  }
});
