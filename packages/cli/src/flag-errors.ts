import type { Command, Option } from 'commander';
import { RefusedError } from './client.js';

/** What a server says of a field that a flag was typed for, said of the flag. Any other error is as it was. */
export function ofFlag(error: unknown, command: Command): unknown {
  if (!(error instanceof RefusedError) || error.code !== 'invalid_field') return error;
  const [, field = '', part, reason = ''] = /^invalid (\w+)(?:\.([\w-]+))?[^\s:]*: (.+)$/s.exec(error.message) ?? [];
  const option = command.options.find(({ long }) => long === flagOf(field) || `${long}s` === flagOf(field));
  if (option === undefined || !wasTyped(option, command)) return error;
  const words = reason.replace(/"(\w+)": "(\w+)"/g, (_, name: string, value: string) => `${flagOf(name)} ${value}`);
  const { told, answer } = error;
  return new RefusedError(error.code, { told, text: `${option.long}${partText(part)}: ${words}`, fix: '', answer });
}

/** Which of those that a flag was given for: by its name, or by its place. */
function partText(part: string | undefined): string {
  if (part === undefined) return '';
  return /^\d+$/.test(part) ? ` (number ${Number(part) + 1})` : ` ${part}`;
}

function wasTyped(option: Option, command: Command): boolean {
  return command.getOptionValueSource(option.attributeName()) === 'cli';
}

function flagOf(field: string): string {
  return `--${field.replaceAll('_', '-')}`;
}
