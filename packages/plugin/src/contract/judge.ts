import { cmdErrOf, type ProcessExit } from '@muster/wire';
import { RESPONSE_DEPTH, STATUS_MOST } from './limits.js';
import type { ResponseRead } from './task-file.js';

/** What becomes of an attempt whose plugin answers in a file. */
export interface Judgement extends ProcessExit {
  /** Positive: 1 succeeded, all others failed. */
  readonly status: number;
  readonly stdout: string | null;
  readonly stderr: string | null;
  /** What was wrong, in a sentence; null when nothing was. */
  readonly reason: string | null;
}

const FAILED = 2;

/**
 * What a task ends with when its plugin has ended, by every row of the table that Disbatch's runner keeps to (sheet
 * §3.5). Its texts are exact: clients compare them.
 */
export function judge(read: ResponseRead, { exitCode, signal }: ProcessExit): Judgement {
  const fail = (stdout: string | null, stderr: string): Judgement => {
    return { status: FAILED, stdout, stderr, reason: stderr, exitCode, signal };
  };
  if ('error' in read) return fail(null, `could not read task plugin response file: ${read.error}`);
  const response = parseResponse(read.text);
  if (response === null) {
    const seen = 'see stdout for any content it may have set';
    return fail(read.text, `plugin saved non-json in response file (${seen})`);
  }
  const seen = 'see stdout for status and any stdout or stderr it may have set';
  const { status } = response;
  if (!isWhole(status)) return fail(jsonOf(response), `plugin returned unknown type for status (${seen})`);
  if (status <= 0) return fail(jsonOf(response), `plugin returned non-positive status (${seen})`);
  const unclean = exitCode !== 0 || signal !== null;
  if (status === 1 && unclean) {
    const set = 'see stdout for any stdout or stderr it may have set';
    return fail(jsonOf(response), `plugin returned status:1 but did not exit cleanly (${set})`);
  }
  const [stdout, stderr] = [outputOf(response.stdout), outputOf(response.stderr)];
  const wrong = [...(unclean ? [uncleanReason(exitCode, signal)] : []), ...[stdout, stderr].flatMap(strangeReason)];
  const reason = wrong.length === 0 ? null : wrong.join('; ');
  return { status, stdout: stdout.text, stderr: stderr.text, reason, exitCode, signal };
}

/** The three keys that count; others are passed over, and missing ones are null. */
interface Response {
  readonly status: unknown;
  readonly stdout: unknown;
  readonly stderr: unknown;
}

/** Null when the text is no JSON object. */
function parseResponse(text: string): Response | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value) || !isRepresentable(value)) return null;
  const { status = null, stdout = null, stderr = null } = value as Partial<Response>;
  return { status, stdout, stderr };
}

/** Whether it can be written as JSON again: `1e999` is read as infinity, which it cannot; nor can what is nested deep. */
function isRepresentable(root: object): boolean {
  let level: object[] = [root];
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > RESPONSE_DEPTH) return false;
    const inner: object[] = [];
    for (const value of level.flatMap((holder): unknown[] => Object.values(holder))) {
      if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) return false;
      if (typeof value === 'object' && value !== null) inner.push(value);
    }
    level = inner;
  }
  return true;
}

/** Whole numbers written with a fraction (`1.0`) count, digits in a string do not. */
function isWhole(status: unknown): status is number {
  return Number.isInteger(status) && Math.abs(status as number) <= STATUS_MOST;
}

/** Relaxed Extended JSON: of what JSON can say, it is the same text. */
function jsonOf({ status, stdout, stderr }: Response): string {
  return JSON.stringify({ status, stdout, stderr });
}

interface Output {
  readonly text: string | null;
  /** It was no string. */
  readonly strange: boolean;
}

/** Output is a string or null; anything else is kept as its JSON rather than lost. */
function outputOf(value: unknown): Output {
  if (value === null || typeof value === 'string') return { text: value, strange: false };
  return { text: JSON.stringify(value), strange: true };
}

function strangeReason({ strange }: Output, index: number): string[] {
  return strange ? [`plugin returned ${index === 0 ? 'stdout' : 'stderr'} that is no string; its JSON is kept`] : [];
}

function uncleanReason(exitCode: number | null, signal: string | null): string {
  return `plugin did not exit cleanly: ${cmdErrOf(exitCode, signal) ?? 'it could not be waited for'}`;
}
