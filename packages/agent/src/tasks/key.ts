import type { TaskRef } from '@muster/wire';

/** One attempt among all. */
export function attemptKey({ id, attempt }: TaskRef): string {
  return `${attempt}/${id}`;
}
