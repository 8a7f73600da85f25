import type { Call } from '../../../shell.js';
import { type Captured, capturedText } from '../captured.js';
import { diffGroupLines, noText, type Result } from './group-lines.js';
import { lineDiff } from './line-diff.js';

/** Of each stream that is compared line by line. */
const DIFF_BYTES = 256 * 1024;
const STREAMS = ['stdout', 'stderr'] as const;

/** The output of a group: that of one of its nodes. */
export interface Compared {
  readonly result: Result;
  readonly stdout: Captured | null;
  readonly stderr: Captured | null;
}

/** A group, with what differs from the output of the largest. */
export async function comparedLines(
  call: Call<object>,
  id: string,
  largest: Compared,
  other: Result,
): Promise<string[]> {
  const after = await outputOf(call, id, other);
  return diffGroupLines(other, lineDiff(outputLines(largest), outputLines(after)), alikeLines(largest, after));
}

export async function outputOf(call: Call<object>, id: string, result: Result): Promise<Compared> {
  const [node = ''] = result.nodes;
  const stdout = await capturedText(call, id, node, 'stdout', DIFF_BYTES);
  return { result, stdout, stderr: await capturedText(call, id, node, 'stderr', DIFF_BYTES) };
}

/** Of stdout, then of stderr. */
function outputLines(compared: Compared): string[] {
  return STREAMS.flatMap((stream) => {
    const output = compared[stream];
    if (output === null || output.text === '') return [];
    const beginning = compared.result[stream];
    const own =
      beginning.text === undefined
        ? [`${noText(beginning)} (sha256 ${output.sha256.slice(0, 8)})`]
        : output.text.replace(/\n$/, '').split('\n');
    return [...own.map((line) => (stream === 'stderr' ? `stderr: ${line}` : line)), ...(output.cut ? ['…'] : [])];
  });
}

/** What is to be said of two outputs whose lines are the same. */
export function alikeLines(before: Compared, after: Compared): string[] {
  const results = [before.result, after.result];
  if (results.some(({ output_missing: missing }) => missing !== null))
    return ['incomplete: the same as far as it came'];
  if (results.some(({ stdout, stderr }) => stdout.bytes === null && stderr.bytes === null))
    return ['output was not kept'];
  const told = STREAMS.flatMap((stream) => {
    const text = alikeText(before, after, stream);
    return text === null ? [] : [stream === 'stderr' ? `stderr: ${text}` : text];
  });
  return told.length === 0 ? ['the same output'] : told;
}

/** Null: as far as can be known, the same bytes. */
function alikeText(before: Compared, after: Compared, stream: (typeof STREAMS)[number]): string | null {
  const [one, other] = [before[stream], after[stream]];
  const sizes = [before, after].map(({ result }) => result[stream].bytes ?? 0);
  const bytes = sizes.map((size) => `${size.toLocaleString('en')} bytes`).join(' and ');
  if (one?.sha256 === other?.sha256) {
    const whole = [before, after].every(({ result: { [stream]: of } }) => (of.kept_bytes ?? of.bytes) === of.bytes);
    return whole ? null : `${bytes}; the same as far as they were kept`;
  }
  if (Math.max(...sizes) > DIFF_BYTES)
    return `${bytes}; the same in the first ${DIFF_BYTES.toLocaleString('en')} of them`;
  if (other?.text === `${one?.text}\n`) return 'the same lines, but a line end at the end';
  if (one?.text === `${other?.text}\n`) return 'the same lines, but no line end at the end';
  return `${bytes}, which differ in what is no text`;
}
