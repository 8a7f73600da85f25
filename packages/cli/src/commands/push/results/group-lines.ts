import { printable, printableLines } from '../../../printable.js';
import type { DiffLine } from './line-diff.js';

/** How one stream of a group begins, `GET …/results`. */
export interface Beginning {
  readonly bytes: number | null;
  /** Less than `bytes` when the middle of too much was not; an older server does not say it. */
  readonly kept_bytes?: number | null;
  readonly text?: string;
  readonly base64?: string;
}

/** Nodes with the same result. */
export interface Result {
  readonly position: number;
  readonly group: string;
  readonly count: number;
  /** The first of them. */
  readonly nodes: readonly string[];
  readonly status: string;
  readonly reason: string | null;
  readonly exit_code: number | null;
  readonly signal: string | null;
  readonly output_missing: string | null;
  readonly stdout: Beginning;
  readonly stderr: Beginning;
}

export interface Results {
  readonly groups: number;
  readonly nodes: number;
  readonly results: readonly Result[];
}

/** Of each stream, and of a difference. */
const MOST_LINES = 5;
const MOST_DIFF_LINES = 40;
const NAMED = 3;
/** Enough to tell groups of one job apart. */
const GROUP_DIGITS = 8;

/** A group for people: how many nodes, which, what they did, and how their output begins. */
export function groupLines(result: Result): string[] {
  return [
    headline(result),
    `  ${named(result)}`,
    ...(isSilent(result) ? ['    (no output)'] : []),
    ...streamLines('', result.stdout),
    ...streamLines('stderr: ', result.stderr),
    ...missingLines(result),
  ];
}

/** It wrote nothing, and that is known. */
function isSilent({ stdout, stderr, output_missing: missing }: Result): boolean {
  return stdout.bytes === 0 && stderr.bytes === 0 && missing === null;
}

function missingLines({ output_missing: missing }: Result): string[] {
  return missing === null
    ? []
    : [`    may be incomplete, what came last did not reach the server (${printable(missing)})`];
}

/** Output that no line can be shown of. */
export function noText({ bytes, base64 }: Beginning): string {
  return `${bytes ?? Buffer.byteLength(base64 ?? '', 'base64')} bytes that are no text`;
}

/**
 * The same with what differs from the output of the largest group in the place of its beginning.
 * @param alike What is said where no line does.
 */
export function diffGroupLines(result: Result, diff: readonly DiffLine[], alike: readonly string[]): string[] {
  const shown = diff.slice(0, MOST_DIFF_LINES).map(diffLine);
  const more = diff.length - shown.length;
  return [
    headline(result),
    `  ${named(result)}`,
    ...(diff.some(({ kind }) => kind !== 'skipped') ? shown : alike.map((text) => `    ${text}`)),
    ...(more > 0 ? [`    … ${more} ${more === 1 ? 'line' : 'lines'} of difference more`] : []),
    ...missingLines(result),
  ];
}

function headline({ count, group, stdout, ...result }: Result): string {
  const nodes = count === 1 ? '1 node' : `${count.toLocaleString('en')} nodes`;
  const same = count === 1 ? '' : stdout.bytes === null ? ': same end' : ': same output';
  return `${nodes}${same}, ${endText(result)}  (${group.slice(0, GROUP_DIGITS)})`;
}

function endText({
  status,
  exit_code: code,
  signal,
  reason,
}: Pick<Result, 'exit_code' | 'reason' | 'signal' | 'status'>): string {
  const end = status.replaceAll('_', ' ');
  const why = code !== null ? `exit ${code}` : signal !== null ? `signal ${signal}` : reason;
  return why === null || code === 0 ? end : `${end}: ${printable(why)}`;
}

function named({ nodes, count }: Result): string {
  const names = nodes.slice(0, NAMED).map(printable);
  const more = count - names.length;
  return names.join(', ') + (more > 0 ? ` and ${more.toLocaleString('en')} more` : '');
}

function streamLines(before: string, beginning: Beginning): string[] {
  const { bytes, text } = beginning;
  if (text === undefined) return [`    ${before}${noText(beginning)}${keptText(beginning)}`];
  if (text === '') return [];
  const lines = text.replace(/\n$/, '').split('\n');
  const shown = lines.slice(0, MOST_LINES).map((line) => `    ${before}${printableLines(line)}`);
  const cut = lines.length > MOST_LINES || (bytes ?? 0) > Buffer.byteLength(text);
  return cut ? [...shown, `    ${before}…${keptText(beginning)}`] : shown;
}

/** Of output that was cut, how much there is to be read. */
function keptText({ bytes, kept_bytes: kept }: Beginning): string {
  if (bytes === null || kept === null || kept === undefined || kept >= bytes) return '';
  const [all, some] = [bytes, kept].map((count) => count.toLocaleString('en'));
  return ` (${some} of ${all} bytes were kept: output limit)`;
}

function diffLine(line: DiffLine): string {
  if (line.kind === 'skipped') return `      … ${line.lines} ${line.lines === 1 ? 'line' : 'lines'} the same`;
  return `    ${{ same: ' ', removed: '-', added: '+' }[line.kind]} ${printableLines(line.text)}`;
}
