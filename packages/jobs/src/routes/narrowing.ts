import { refused } from '../request/refusal.js';
import type { Query } from './query.js';

/** Of a text that is looked for. */
const MOST_CHARACTERS = 255;

/** What a list of apps or systems is narrowed by. */
export class Narrowing {
  readonly #asked = new Map<string, string>();

  /** @throws MusterError `job_invalid` for a name that narrows nothing here, or is given twice. */
  constructor(query: Query, names: readonly string[]) {
    query.refuseConditions(names);
    for (const [name, value] of query.conditions) {
      if (this.#asked.has(name)) throw refused('ALOE_INVALID_PARAMETER', name, 'it is given twice');
      this.#asked.set(name, value);
    }
  }

  /** null: it was not asked for. @throws MusterError `job_invalid` */
  flag(name: string): boolean | null {
    const value = this.#asked.get(name)?.toLowerCase();
    if (value === undefined) return null;
    if (value === 'true' || value === '1') return true;
    if (value === 'false' || value === '0') return false;
    throw refused('ALOE_INVALID_PARAMETER', name, 'must be true or false');
  }

  /** null: it was not asked for. @throws MusterError `job_invalid` */
  text(name: string): string | null {
    const value = this.#asked.get(name) ?? null;
    if (value === null || (value.length > 0 && value.length <= MOST_CHARACTERS)) return value;
    throw refused('ALOE_INVALID_PARAMETER', name, `must have 1 to ${MOST_CHARACTERS} characters`);
  }

  /** One of these, in any case; null: it was not asked for. @throws MusterError `job_invalid` */
  oneOf<const Value extends string>(name: string, values: readonly Value[]): Value | null {
    const value = this.#asked.get(name);
    if (value === undefined) return null;
    const found = values.find((one) => one.toLowerCase() === value.toLowerCase());
    if (found !== undefined) return found;
    throw refused('ALOE_INVALID_PARAMETER', name, `must be one of ${values.join(', ')}`);
  }

  /** Whether those that are public, those that are not, or both are wanted: `publicOnly`, `privateOnly`. */
  get publicity(): readonly boolean[] {
    const [publicOnly, privateOnly] = [this.flag('publicOnly'), this.flag('privateOnly')];
    return [true, false].filter((isPublic) => (isPublic ? privateOnly !== true : publicOnly !== true));
  }
}
