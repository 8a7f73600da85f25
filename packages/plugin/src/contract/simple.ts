import type { Json, ProcessExit } from '@muster/wire';
import { ARGUMENT_BYTES, ARGUMENTS } from './limits.js';

/** The simple contract: for programs that know nothing of Muster. Arguments with parameters in place, exit status as result. */

/** An argument, taken apart: text, and names of parameters whose values stand between. */
export type Argument = readonly ({ readonly text: string } | { readonly param: string })[];

/** The arguments of a plugin in the node's configuration are wrong. */
export class ArgumentsError extends Error {
  override readonly name = 'ArgumentsError';
}

const PIECE = /\{\{|\}\}|\{([^{}]*)\}|[{}]|[^{}]+/g;
const PARAM = /^[\w.-]+$/;

/** Reads `--size={width}x{height}`; `{{` and `}}` are braces. Throws ArgumentsError. */
export function parseArguments(args: readonly string[]): readonly Argument[] {
  if (args.length > ARGUMENTS) throw new ArgumentsError(`more than ${ARGUMENTS} arguments`);
  return args.map(parseArgument);
}

function parseArgument(arg: string): Argument {
  return [...arg.matchAll(PIECE)].map(([piece, param]) => {
    if (piece === '{{') return { text: '{' };
    if (piece === '}}') return { text: '}' };
    if (param !== undefined && PARAM.test(param)) return { param };
    if (param !== undefined || piece === '{' || piece === '}') {
      throw new ArgumentsError(`'${arg}': '${piece}' names no parameter; write {{ and }} for braces`);
    }
    return { text: piece };
  });
}

/**
 * The arguments of one task: strings as they are, numbers and booleans as text, null, lists and objects as JSON. They go
 * to the program as they are, never through a shell. An error names the parameter.
 */
export function fillArguments(
  args: readonly Argument[],
  params: { readonly [name: string]: Json },
): { readonly argv: readonly string[] } | { readonly error: string } {
  const argv: string[] = [];
  for (const argument of args) {
    let filled = '';
    for (const piece of argument) {
      const value = 'text' in piece ? piece.text : textOf(params, piece.param);
      if (value === null) return { error: missing('param' in piece ? piece.param : '') };
      filled += value;
    }
    const named = argument.flatMap((piece) => ('param' in piece ? [`'${piece.param}'`] : [])).join(', ');
    if (filled.includes('\0')) return { error: `parameter ${named}: an argument cannot hold a NUL character` };
    if (Buffer.byteLength(filled) > ARGUMENT_BYTES) {
      const fix = 'let the program read the file that MUSTER_TASK_FILE names';
      return { error: `parameter ${named}: longer than the ${ARGUMENT_BYTES} bytes of an argument; ${fix}` };
    }
    argv.push(filled);
  }
  return { argv };
}

function textOf(params: { readonly [name: string]: Json }, name: string): string | null {
  if (!Object.hasOwn(params, name)) return null;
  const value = params[name];
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}

function missing(name: string): string {
  return `parameter '${name}' is missing, which the arguments of the plugin need; add the task again with it`;
}

/** Exit status with which a program asks to be run again later: EX_TEMPFAIL of sysexits.h. */
export const RETRY_EXIT = 75;

export interface ExitJudgement extends ProcessExit {
  readonly status: 1 | 2;
  readonly retry: boolean;
  readonly reason: string | null;
}

/** What a task ends with whose plugin says all by how it exits. */
export function judgeExit({ exitCode, signal }: ProcessExit): ExitJudgement {
  if (signal !== null) return { status: 2, retry: false, reason: `killed by ${signal}`, exitCode, signal };
  if (exitCode === 0) return { status: 1, retry: false, reason: null, exitCode, signal };
  const reason = exitCode === null ? 'it could not be waited for' : `exit status ${exitCode}`;
  return { status: 2, retry: exitCode === RETRY_EXIT, reason, exitCode, signal };
}
