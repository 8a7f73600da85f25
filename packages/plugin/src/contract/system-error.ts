import { getSystemErrorMap } from 'node:util';

export function codeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}

/** What the system calls it: `no such file or directory`. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const known = 'errno' in error && typeof error.errno === 'number' ? getSystemErrorMap().get(error.errno) : undefined;
  return known?.[1] ?? error.message;
}
