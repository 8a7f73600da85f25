import { MusterError } from '../errors.js';
import type { StompVersion } from './frame.js';
import { quote } from './frame-errors.js';

/**
 * How the header lines of a frame are read. CONNECT and CONNECTED are never escaped, whatever the version; 1.0 knows no
 * escapes, and its own examples put blanks around values.
 */
export type HeaderRules = 'plain' | 'trimmed' | '1.1' | '1.2';

const NAMES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', ':': '\\c', '\\': '\\\\' };
const MEANINGS: Readonly<Record<string, string>> = { n: '\n', r: '\r', c: ':', '\\': '\\' };

/**
 * A name or value as it stands on the wire.
 * 1.1 has no escape for CR and sends it as it is. 1.0 has no escapes at all: line ends are written as in 1.2, so that
 * no value can make lines of its own, and the rest as it is.
 */
export function escapeHeader(text: string, version: StompVersion): string {
  switch (version) {
    case '1.2':
      return /[\n\r:\\]/.test(text) ? text.replace(/[\n\r:\\]/g, (char) => NAMES[char] ?? char) : text;
    case '1.1':
      return text.replace(/[\n:\\]/g, (char) => NAMES[char] ?? char);
    case '1.0':
      return text.replace(/[\n\r]/g, (char) => NAMES[char] ?? char);
  }
}

/** The inverse. @throws MusterError `stomp_invalid_escape` */
export function unescapeHeader(text: string, rules: HeaderRules): string {
  if (rules === 'trimmed') return text.trim();
  if (rules === 'plain' || !text.includes('\\')) return text;
  return text.replace(/\\(.?)/gs, (found, name: string) => {
    const meaning = MEANINGS[name];
    if (meaning === undefined || (meaning === '\r' && rules === '1.1')) {
      throw new MusterError('stomp_invalid_escape', { escape: quote(found), text: quote(text), version: rules });
    }
    return meaning;
  });
}
