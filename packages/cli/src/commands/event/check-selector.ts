import { parseSelector, SelectorError, unquotedTexts } from '@muster/selector';
import { MusterError } from '../../errors.js';
import type { Output } from '../../output.js';
import { unquotedWarning } from '../unquoted.js';

/** Before anything is connected, and with a mark where it is wrong. @throws MusterError `event_selector` */
export function checkSelector(out: Pick<Output, 'note'>, selector: string): void {
  try {
    const expression = parseSelector(selector, { sugar: false });
    for (const found of unquotedTexts(expression)) out.note(unquotedWarning(found, []));
    for (const name of subtractions(selector)) {
      out.note(`${name} is a subtraction here; an attribute of that name is written "${name}"`);
    }
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    const { position, reason, hint } = error;
    if (!/[^\x20-\x7e]/.test(selector)) out.note(`  ${selector}\n  ${' '.repeat(position)}^`);
    throw new MusterError('event_selector', { position, reason, hint }, { cause: error });
  }
}

const NOT_NAMES = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--.*|\/\*[\s\S]*?\*\//g;

/** Names joined by `-`: a valid selector, and seldom what was meant. */
function subtractions(selector: string): Set<string> {
  const bare = selector.replaceAll(NOT_NAMES, ' ');
  return new Set(bare.match(/[A-Za-z_$][\w$.]*(?:-[A-Za-z_$][\w$.]*)+/g));
}
