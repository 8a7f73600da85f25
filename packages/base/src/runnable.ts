/** Enough of a script to know what runs it. */
export const SCRIPT_HEAD_BYTES = 256;

/** Why a script cannot be run by itself, as its beginning says; null: it can, if its interpreter is there. */
export function notRunnable(head: Uint8Array): string | null {
  const text = textOf(head);
  // What a kernel runs: a line that names the interpreter, or a program.
  if (text.startsWith('\x7fELF')) return null;
  if (!text.startsWith('#!')) return 'does not begin with a line that names its interpreter, such as #!/bin/sh';
  if (!/^[^\n]*\r(\n|$)/.test(text)) return null;
  return 'has lines that end as on Windows, with a carriage return, which would be part of the name of its interpreter: save it with Unix line ends';
}

/** What the first line of a script names; null: nothing. */
export function interpreterOf(head: Uint8Array): string | null {
  return /^#![ \t]*([^ \t\n]+)/.exec(textOf(head))?.[1] ?? null;
}

/** Any bytes. */
function textOf(head: Uint8Array): string {
  return Buffer.from(head.subarray(0, SCRIPT_HEAD_BYTES)).toString('latin1');
}
