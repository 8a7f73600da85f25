import { STATUS_MOST } from './limits.js';
import { ModuleError } from './load-module.js';

/** What a task of a module ends with; what the module logged stands before its `stdout` and `stderr`. */
export interface OutcomeJudgement {
  readonly status: number;
  readonly retry: boolean;
  readonly reason: string | null;
  readonly stdout: string | null;
  readonly stderr: string | null;
}

const FAILED = 2;

/** Of what `run` returned. Nothing at all is success; of an object the keys of TaskOutcome count. */
export function judgeOutcome(returned: unknown): OutcomeJudgement {
  if (returned === undefined || returned === null) {
    return { status: 1, retry: false, reason: null, stdout: null, stderr: null };
  }
  const wrong = (reason: string): OutcomeJudgement => {
    return { status: FAILED, retry: false, reason, stdout: null, stderr: reason };
  };
  if (typeof returned !== 'object' || Array.isArray(returned)) {
    return wrong(`run() returned ${described(returned)}; return nothing, or an object with status, stdout, stderr`);
  }
  const outcome = returned as { status?: unknown; retry?: unknown; stdout?: unknown; stderr?: unknown };
  const again = outcome.retry === true;
  const status = outcome.status ?? (again ? FAILED : 1);
  if (typeof status !== 'number' || !Number.isInteger(status) || status <= 0 || status > STATUS_MOST) {
    return wrong(`run() returned the status ${described(status)}; it must be a whole number above 0, 1 for success`);
  }
  return {
    status,
    retry: again && status !== 1,
    reason: null,
    stdout: outputText(outcome.stdout),
    stderr: outputText(outcome.stderr),
  };
}

/** Of what `run` threw, or why there is none. An error whose `retry` is true asks for another run. */
export function judgeThrown(thrown: unknown): OutcomeJudgement {
  if (thrown instanceof ModuleError) {
    const { message } = thrown;
    return { status: FAILED, retry: false, reason: message, stdout: null, stderr: message };
  }
  const error = thrown instanceof Error ? thrown : new Error(described(thrown));
  const retry = typeof thrown === 'object' && thrown !== null && 'retry' in thrown && thrown.retry === true;
  const reason = `${error.name}: ${error.message}`;
  return { status: FAILED, retry, reason, stdout: null, stderr: `${error.stack ?? reason}\n` };
}

function outputText(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  return typeof value === 'string' ? value : described(value);
}

/** A value in a sentence; it may be one that JSON cannot say, or that refuses to be said. */
function described(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return `a ${typeof value} that cannot be written as JSON`;
  }
}
