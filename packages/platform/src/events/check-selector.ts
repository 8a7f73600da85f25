import { parseSelector, SelectorError } from '@muster/selector';
import { MusterError } from '../errors.js';

/** Of events, as somebody gave it in this field. @throws MusterError `invalid_field` */
export function checkEventSelector(field: string, text: string): void {
  try {
    parseSelector(text, { sugar: false });
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    throw new MusterError('invalid_field', { field, reason: error.message });
  }
}
