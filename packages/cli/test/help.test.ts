import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { createProgram } from '../src/program.js';
import { run } from '../src/run.js';
import { examplesOf, pathOfCommand } from '../src/shell.js';
import { testWorld } from './support/world.js';

function commandsOf(command: Command): Command[] {
  return command.commands.flatMap((child) => [child, ...commandsOf(child)]);
}

const program = await createProgram(
  { world: testWorld(), typed: [], words: undefined, exitCode: 0 },
  { serverFlags: true },
);
const commands = commandsOf(program);

test.each(commands.map((command) => [pathOfCommand(command), command] as const))(
  '`%s --help` says what it is for and shows an example',
  async (path, command) => {
    const world = testWorld();
    expect(await run([...path.split(' ').slice(1), '--help'], world)).toBe(0);
    expect(command.description()).not.toBe('');
    expect(examplesOf(command).length).toBeGreaterThan(0);
    for (const example of examplesOf(command)) expect(world.out()).toContain(example);
  },
);

test('every command that the reference promises is there', () => {
  const names = program.commands.map((command) => command.name());
  expect(names).toEqual(
    expect.arrayContaining([
      ...['server', 'agent', 'demo', 'org', 'user', 'group', 'token', 'access-token', 'node', 'node-group', 'push'],
      ...['audit', 'doctor', 'completion'],
    ]),
  );
});

test('every command that answers takes --json', () => {
  const answering = commands.filter((command) => command.commands.length === 0);
  const without = answering.filter((command) => !command.options.some((option) => option.long === '--json'));
  expect(without.map(pathOfCommand)).toEqual([]);
});

test('every example begins with a command that exists', () => {
  const paths = new Set(commands.map(pathOfCommand));
  for (const command of commands) {
    for (const example of examplesOf(command)) {
      const words = example.replace(/^(\w+=\S+ )+/, '').split(' ');
      const known = [3, 2].some((length) => paths.has(words.slice(0, length).join(' ')));
      expect(known || example.startsWith('npm run'), example).toBe(true);
    }
  }
});
