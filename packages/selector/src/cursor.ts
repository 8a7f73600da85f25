import { SelectorError } from './error.js';
import { type Keyword, type Operator, scan, type Token } from './scanner.js';

/** A place in the text. A token is scanned only where one is asked for, because a search term may hold what is none. */
export class Cursor {
  readonly text: string;
  #position = 0;
  #token: Token | null = null;

  constructor(text: string) {
    this.text = text;
  }

  get position(): number {
    return this.#position;
  }

  moveTo(position: number): void {
    this.#position = position;
    this.#token = null;
  }

  peek(): Token {
    this.#token ??= scan(this.text, this.#position);
    return this.#token;
  }

  next(): void {
    this.moveTo(this.peek().end);
  }

  atKeyword(keyword: Keyword): boolean {
    const token = this.peek();
    return token.kind === 'keyword' && token.keyword === keyword;
  }

  takeKeyword(keyword: Keyword): boolean {
    const found = this.atKeyword(keyword);
    if (found) this.next();
    return found;
  }

  takeOperator(operator: Operator): boolean {
    const token = this.peek();
    const found = token.kind === 'operator' && token.operator === operator;
    if (found) this.next();
    return found;
  }

  takeOneOf<T extends Operator>(operators: readonly T[]): T | null {
    const token = this.peek();
    if (token.kind !== 'operator') return null;
    for (const operator of operators) {
      if (operator !== token.operator) continue;
      this.next();
      return operator;
    }
    return null;
  }

  takeString(hint: string): string {
    const token = this.peek();
    if (token.kind !== 'string') throw this.expected('a string', hint);
    this.next();
    return token.value;
  }

  expectKeyword(keyword: Keyword, hint: string): void {
    if (!this.takeKeyword(keyword)) throw this.expected(`'${keyword}'`, hint);
  }

  expectOperator(operator: Operator, hint: string): void {
    if (!this.takeOperator(operator)) throw this.expected(`'${operator}'`, hint);
  }

  expectEnd(): void {
    const token = this.peek();
    if (token.kind === 'end') return;
    if (token.kind === 'operator' && token.operator === ')') {
      throw new SelectorError(token.start, "unexpected ')'", 'There is no parenthesis open here.');
    }
    const shown = this.#shown(token);
    throw new SelectorError(token.start, `unexpected ${shown}`, `Is AND or OR missing before ${shown}?`);
  }

  expected(what: string, hint: string): SelectorError {
    const token = this.peek();
    return new SelectorError(token.start, `expected ${what} but found ${this.#shown(token)}`, hint);
  }

  #shown(token: Token): string {
    return token.kind === 'end' ? 'the end' : `'${this.text.slice(token.start, token.end)}'`;
  }
}
