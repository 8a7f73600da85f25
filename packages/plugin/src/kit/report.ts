import { fixOf } from './fixes.js';
import type { Trial } from './trial.js';

/** What a trial showed, for people. */
export function reportOf(trial: Trial): string {
  const { status, retry, reason, progress, printed, durationMs } = trial;
  const lines = [
    `status    ${status} ${status === 1 ? '(succeeded)' : retry ? '(failed, asks to be run again)' : '(failed)'}`,
    ...(trial.exitCode === null ? [] : [`exit      ${trial.exitCode}`]),
    ...(trial.signal === null ? [] : [`signal    ${trial.signal}`]),
    `took      ${(durationMs / 1000).toFixed(2)} s`,
    ...progress.map(({ fraction, text }) => `progress  ${Math.round(fraction * 100)}% ${text}`.trimEnd()),
    ...outputLines('stdout', trial.stdout),
    ...outputLines('stderr', trial.stderr),
    ...printedLines('stdout', printed.stdout),
    ...printedLines('stderr', printed.stderr),
  ];
  if (reason !== null) lines.push(`wrong     ${visible(reason)}`);
  const fix = reason === null ? null : fixOf(reason);
  if (fix !== null) lines.push(`fix       ${fix}`);
  return `${lines.join('\n')}\n`;
}

function outputLines(name: string, text: string | null): string[] {
  if (text === null) return [`${name}    none`];
  return [`${name}    ${Buffer.byteLength(text)} bytes`, ...quoted(text)];
}

/** What is no output of the task shows where else it goes. */
function printedLines(name: string, text: string | null): string[] {
  return text === null ? [] : [`printed on ${name}, which is no output of the task`, ...quoted(text)];
}

function quoted(text: string): string[] {
  if (text === '') return [];
  return text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => `  | ${visible(line)}`);
}

/** Control characters would reach the terminal. */
function visible(line: string): string {
  return line.replace(/(?!\t)\p{Cc}/gu, (character) => {
    return `\\x${(character.codePointAt(0) ?? 0).toString(16).padStart(2, '0')}`;
  });
}
