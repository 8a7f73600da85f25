import { execFile } from 'node:child_process';
import type { Facts, FactValue } from '@muster/wire';
import { LIMITS } from '@muster/wire';
import { OWN_FACTS, OWN_FACTS_BYTES } from './limits.js';

/** A program of the node's owner that writes facts as one JSON object. */
export interface FactsProgram {
  readonly program: string;
  readonly timeoutMs: number;
}

/** Characters of what a program that failed said last. */
const LAST_LINE = 200;

/** What selectors can name. */
const NAME = /^[A-Za-z_][\w.-]*$/;

/**
 * The facts that it writes. It runs without a shell and without arguments, is killed after its time, and what it writes is bounded.
 * @throws Error which says what is wrong, for the agent's log
 */
export async function runFactsProgram({ program, timeoutMs }: FactsProgram): Promise<Facts> {
  const { PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', HOME = '/', TZ } = process.env;
  const env = { PATH, HOME, LANG: 'C.UTF-8', ...(TZ !== undefined && { TZ }) };
  const options = { cwd: '/', env, timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: OWN_FACTS_BYTES } as const;
  const text = await new Promise<string>((resolve, reject) => {
    const child = execFile(program, [], options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(reasonOf(error, stderr, timeoutMs)));
    });
    child.stdin?.end();
  });
  return readOwnFacts(text);
}

/** Of what it wrote to standard error, the last line. */
function reasonOf(
  error: Error & { readonly code?: unknown; readonly killed?: boolean },
  stderr: string,
  timeoutMs: number,
): string {
  if (error.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return `it wrote more than ${OWN_FACTS_BYTES} bytes`;
  if (error.killed === true) return `it took longer than ${timeoutMs / 1000} s`;
  if (typeof error.code !== 'number') return error.message;
  const last = stderr.trimEnd().split('\n').at(-1)?.slice(0, LAST_LINE) ?? '';
  return `it ended with exit code ${error.code}${last === '' ? '' : `: ${last}`}`;
}

/** @throws Error naming the fact */
export function readOwnFacts(text: string): Facts {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw new Error('what it wrote is not JSON', { cause: error });
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new Error('what it wrote is not a JSON object');
  }
  const entries = Object.entries(parsed);
  if (entries.length > OWN_FACTS) throw new Error(`it wrote more than ${OWN_FACTS} facts`);
  return Object.fromEntries(entries.map(([name, value]) => [checkedName(name), checkedValue(name, value)]));
}

function checkedName(name: string): string {
  if (NAME.test(name) && Buffer.byteLength(name) <= LIMITS.nameBytes) return name;
  throw new Error(`'${name.slice(0, 64)}' cannot name a fact: letters, digits, _, . and -, a letter first`);
}

function checkedValue(name: string, value: unknown): FactValue {
  if (typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))) return value;
  if (typeof value === 'string' && Buffer.byteLength(value) <= LIMITS.factBytes) return value;
  throw new Error(`${name} must be text of at most ${LIMITS.factBytes} bytes, a number, true or false`);
}
