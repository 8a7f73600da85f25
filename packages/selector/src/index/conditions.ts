import { compileText, type Predicate } from '../compile.js';
import type { Condition, Expression } from '../expression.js';
import { print } from '../print.js';
import type { TextAttributes } from '../text.js';
import { clausesOf, type Pins } from './pins.js';

/**
 * One operand of the AND that an expression is. Thousands of expressions have the same ones (`SCHEDULER = 0`), so each
 * is kept, compiled and looked at by the index once; then it is likely to be in the processor's cache, too.
 */
export class SharedCondition {
  readonly node: Condition;
  /** What the node prints as. */
  readonly text: string;
  /** Unlike that of any other condition there ever was. */
  readonly id: number;
  readonly clauses: readonly Pins[];
  /** How often groups have it. */
  groups = 0;
  #predicate: Predicate<TextAttributes> | null = null;
  /** The last search that asked, and what it was told. */
  #searched = 0;
  #matched = false;

  constructor(node: Condition, text: string, id: number) {
    this.node = node;
    this.text = text;
    this.id = id;
    this.clauses = clausesOf(node);
  }

  /** Compiled by the first event that comes near: many subscriptions end before. `search`: the number of this search. */
  matches(event: TextAttributes, search: number): boolean {
    if (this.#searched === search) return this.#matched;
    this.#predicate ??= compileText(this.node);
    this.#matched = this.#predicate(event);
    this.#searched = search;
    return this.#matched;
  }
}

export class Conditions {
  readonly #byText = new Map<string, SharedCondition>();
  #ids = 0;

  /**
   * An expression is true where all of these are; none: everywhere. If one of them is new, so is the group they make, and
   * it must hold them.
   */
  of(expression: Expression): readonly SharedCondition[] {
    switch (expression.kind) {
      case 'everything':
        return [];
      case 'and':
        return expression.operands.map((operand) => this.#shared(operand));
      default:
        return [this.#shared(expression)];
    }
  }

  hold(conditions: readonly SharedCondition[]): void {
    for (const condition of conditions) condition.groups += 1;
  }

  release(conditions: readonly SharedCondition[]): void {
    for (const condition of conditions) {
      condition.groups -= 1;
      if (condition.groups === 0) this.#byText.delete(condition.text);
    }
  }

  #shared(node: Condition): SharedCondition {
    const text = print(node);
    let shared = this.#byText.get(text);
    if (shared === undefined) {
      this.#ids += 1;
      shared = new SharedCondition(node, text, this.#ids);
      this.#byText.set(text, shared);
    }
    return shared;
  }
}
