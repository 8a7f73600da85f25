import { allows, type TypeRules } from '../../event/access.js';

/** Types whose answer is remembered. */
const REMEMBERED_TYPES = 1000;

/** What may be published, remembered for the types that were asked for. */
export class PublishRights {
  readonly #rules: TypeRules;
  readonly #known = new Map<string, boolean>();

  constructor(rules: TypeRules) {
    this.#rules = rules;
  }

  allow(type: string): boolean {
    let allowed = this.#known.get(type);
    if (allowed === undefined) {
      allowed = allows(this.#rules, type);
      if (this.#known.size >= REMEMBERED_TYPES) this.#known.clear();
      this.#known.set(type, allowed);
    }
    return allowed;
  }
}
