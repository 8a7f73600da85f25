import type { Command } from 'commander';
import { createProgram } from './program.js';
import { examplesOf, hasWork, pathOfCommand, type Shell } from './shell.js';
import { processWorld } from './world.js';

/** `docs/reference/cli.md`, made from the command tree, so that it cannot be out of date. */
export async function commandReference(): Promise<string> {
  const shell: Shell = { world: processWorld(), typed: [], words: undefined, exitCode: 0 };
  const program = await createProgram(shell, { serverFlags: true });
  const sections = visible(program).map((command) => groupSection(command));
  return [
    '# CLI reference',
    '',
    'Generated from the command tree by `npm run docs`. Every command also has `--help`.',
    '',
    'Settings come from `--config FILE`, `MUSTER_CONFIG`, or `MUSTER_URL`, `MUSTER_ORG`, `MUSTER_USER` and `MUSTER_KEY`',
    '(a PEM file; or `MUSTER_TOKEN`); without any of them from `./muster-data/muster.yaml`, which a server writes on its',
    'first start, or else from `~/.muster/muster.yaml`. The file is YAML or JSON with the keys `url`, `org`, `user`, `key`',
    'or `token`, `ca` and `confirm_above`; paths in it are relative to it.',
    '',
    'A server whose certificate no well-known authority has signed needs `--ca FILE`, `MUSTER_CA` or `ca`: a PEM file of the',
    'authority that did, or of the certificate itself if it is self-signed.',
    '',
    'What deletes something of the server asks first. A script, where nobody can be asked, gives `--yes`.',
    '',
    '| exit code | means |',
    '|---|---|',
    '| 0 | done; for `push start`, `watch` and `rerun`: the job is complete and every node that started succeeded |',
    '| 1 | the work failed |',
    '| 2 | usage: unknown flag, bad value, missing setting |',
    '| 3 | not allowed |',
    '| 4 | not found |',
    '| 5 | the server is unreachable or busy |',
    '| 6 | nothing was started or changed yet: it waits for others to agree |',
    '| 124 | `event publish --wait`: no completion came in time; otherwise it exits as the command was completed |',
    '| 130, 143 | interrupted while the job goes on |',
    '| 141 | who read its output went away (`\\| head`), as by SIGPIPE: a job goes on |',
    '',
    ...sections,
  ].join('\n');
}

function groupSection(command: Command): string {
  const children = visible(command);
  const own = hasWork(command) ? entry(command, '##') : `## ${pathOfCommand(command)}\n\n${sentence(command)}\n`;
  return [own, ...children.flatMap(leaves).map((leaf) => entry(leaf, '###'))].join('\n');
}

/** What can be run below a command, with itself: a group in a group, as `event durable`, does nothing by itself. */
function leaves(command: Command): Command[] {
  return [...(hasWork(command) ? [command] : []), ...visible(command).flatMap(leaves)];
}

function entry(command: Command, heading: string): string {
  const path = pathOfCommand(command);
  const flags = command
    .createHelp()
    .visibleOptions(command)
    .filter((option) => option.long !== '--help');
  const rows = flags.map((option) => {
    const given = option.defaultValueDescription ?? option.defaultValue;
    const fallback = given === undefined || given === false ? '' : `\`${String(given)}\``;
    return `| \`${cell(option.flags)}\` | ${cell(option.description)} | ${cell(fallback)} |`;
  });
  return [
    `${heading} ${path}`,
    '',
    sentence(command),
    '',
    '```',
    `${path} ${command.usage()}`,
    '```',
    '',
    ...command
      .createHelp()
      .visibleArguments(command)
      .filter(({ description }) => description !== '')
      .flatMap((argument) => [`\`${argument.name()}\`: ${argument.description}.`, '']),
    ...(rows.length === 0 ? [] : ['| flag | what for | default |', '|---|---|---|', ...rows, '']),
    'Examples:',
    '',
    '```sh',
    ...examplesOf(command),
    '```',
    '',
  ].join('\n');
}

function sentence(command: Command): string {
  const text = command.description();
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}

function visible(command: Command): Command[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .filter((child) => child.name() !== 'help');
}
