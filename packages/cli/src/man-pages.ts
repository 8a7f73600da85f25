import type { Command } from 'commander';
import { createProgram } from './program.js';
import { examplesOf, pathOfCommand, type Shell } from './shell.js';
import { processWorld } from './world.js';

/** Pages of section 1, by file name: one of `muster`, and one of each of its commands with all that is below that. */
export async function manPages(version: string): Promise<ReadonlyMap<string, string>> {
  const shell: Shell = { world: processWorld(), typed: [], words: undefined, exitCode: 0 };
  const program = await createProgram(shell, { serverFlags: true });
  const commands = below(program);
  const pages = commands.map((command): [string, string] => [`${pageOf(command)}.1`, commandPage(command, version)]);
  return new Map([['muster.1', programPage(program, commands, version)], ...pages]);
}

function programPage(program: Command, commands: readonly Command[], version: string): string {
  return [
    header('muster', version),
    '.SH NAME',
    `muster \\- ${roff(plain(program.description()))}`,
    '.SH SYNOPSIS',
    '.B muster',
    '.I command',
    '[\\fIarguments\\fR]',
    '.SH COMMANDS',
    ...commands.flatMap((command) => ['.TP', `.BR ${roff(pageOf(command))} (1)`, roff(command.description())]),
    '.SH OPTIONS',
    ...options(program),
    '.SH EXIT STATUS',
    ...EXIT_STATUS.flatMap(([code, meaning]) => ['.TP', `.B ${code}`, roff(meaning)]),
    '.SH FILES',
    ...FILES.flatMap(([file, meaning]) => ['.TP', `.I ${roff(file)}`, roff(meaning)]),
    '',
  ].join('\n');
}

function commandPage(command: Command, version: string): string {
  const leaves = leavesOf(command);
  return [
    header(pageOf(command), version),
    '.SH NAME',
    `${roff(pageOf(command))} \\- ${roff(plain(command.description()))}`,
    '.SH SYNOPSIS',
    leaves.map((leaf) => `.B ${roff(pathOfCommand(leaf))}\n${roff(leaf.usage())}`).join('\n.br\n'),
    '.SH DESCRIPTION',
    ...leaves.flatMap((leaf) =>
      leaf === command ? description(leaf) : [`.SS ${roff(pathOfCommand(leaf))}`, ...description(leaf)],
    ),
    '.SH SEE ALSO',
    '.BR muster (1)',
    '',
  ].join('\n');
}

function description(command: Command): string[] {
  const words = command.createHelp().visibleArguments(command);
  return [
    `${roff(sentence(command.description()))}`,
    ...words
      .filter((word) => word.description !== '')
      .flatMap((word) => ['.TP', `.I ${roff(word.name())}`, roff(sentence(word.description))]),
    ...options(command),
    '.PP',
    'Examples:',
    '.PP',
    '.nf',
    '.RS',
    ...examplesOf(command).map(roff),
    '.RE',
    '.fi',
  ];
}

function options(command: Command): string[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .flatMap((option) => ['.TP', `.B ${roff(option.flags)}`, roff(sentence(option.description))]);
}

/** What can be run below a command, or the command itself. */
function leavesOf(command: Command): Command[] {
  const children = below(command);
  return children.length === 0 ? [command] : children.flatMap(leavesOf);
}

function below(command: Command): Command[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .filter((child) => child.name() !== 'help');
}

function pageOf(command: Command): string {
  return pathOfCommand(command).replaceAll(' ', '-');
}

function header(name: string, version: string): string {
  return `.TH ${roff(name.toUpperCase())} 1 "" "muster ${version}" "Muster"`;
}

/** As text of the line: no line begins a request, no backslash an escape, and hyphens are those that are typed. */
function roff(text: string): string {
  const escaped = text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('\n', ' ')
    .replaceAll(/[^ -~]/gu, (letter) => `\\[u${letter.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`);
  return /^[.']/.test(escaped) ? `\\&${escaped}` : escaped;
}

/** Names of manual pages are followed by a phrase. */
function plain(text: string): string {
  return text.replace(/\.$/, '');
}

function sentence(text: string): string {
  return text === '' || text.endsWith('.') ? text : `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

const EXIT_STATUS = [
  ['0', 'Done; of a push job that was waited for: it is complete and every node that started succeeded.'],
  ['1', 'The work failed.'],
  ['2', 'Usage: an unknown flag, a bad value, a setting that is missing.'],
  ['3', 'Not allowed.'],
  ['4', 'Not found.'],
  ['5', 'The server is unreachable or busy.'],
  ['6', 'Nothing was started or changed yet: it waits for others to agree.'],
  ['130, 143', 'Interrupted while a job goes on.'],
  ['141', 'Who read its output went away, as by SIGPIPE: a job goes on.'],
] as const;

const FILES = [
  ['~/.muster/muster.yaml', 'Where the server is, and who asks: url, org, user, key or token, ca.'],
  ['/etc/muster/server.yaml, /etc/muster/worker.yaml', 'Settings of a server, and of a worker of its own.'],
  ['/etc/muster/agent.yaml', 'Settings of an agent, and the commands that it accepts.'],
] as const;
