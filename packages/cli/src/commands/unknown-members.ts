import type { Output } from '../output.js';
import { printable } from '../printable.js';

/** Of those that were named: a misspelt one would be found by nobody. */
export function warnOfUnknown(out: Pick<Output, 'note'>, unknown: readonly string[]): void {
  if (unknown.length === 0) return;
  out.note(`not there (yet): ${printable(unknown.join(', '))}; it takes \`alice\`, \`group:NAME\` and \`client:NAME\``);
}
