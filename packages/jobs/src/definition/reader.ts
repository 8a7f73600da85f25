import { MusterError } from '../errors.js';

type Fields = Readonly<Record<string, unknown>>;

/** The field's path is cut: it may come from whoever sent it. */
export function invalid(field: string, reason: string): MusterError {
  return new MusterError('invalid_field', { field: field.slice(0, 120), reason });
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export interface TextRule {
  /** Characters. */
  readonly most: number;
  readonly least?: number;
  readonly pattern?: RegExp;
  /** What fits the pattern, for whoever wrote what does not. */
  readonly form?: string;
  /** May have more than one line. */
  readonly lines?: boolean;
}

/** NUL ends texts for PostgreSQL and for programs; unpaired surrogates are not text. */
const NOT_TEXT = /[\p{Cc}\p{Surrogate}]/u;
const NOT_LINES = /[^\P{Cc}\n\r\t]|\p{Surrogate}/u;

/** @throws MusterError `invalid_field` */
export function checkText(field: string, value: unknown, rule: TextRule): string {
  const { least = 1, most, pattern, form, lines = false } = rule;
  if (typeof value !== 'string') throw invalid(field, 'must be text');
  if (value.length < least || value.length > most) throw invalid(field, `must have ${least} to ${most} characters`);
  if ((lines ? NOT_LINES : NOT_TEXT).test(value)) throw invalid(field, 'must be text without control characters');
  if (pattern !== undefined && !pattern.test(value))
    throw invalid(field, `must be ${form ?? `like ${pattern.source}`}`);
  return value;
}

/**
 * Reads the fields of a definition that somebody wrote, each by its path: what is wrong is told of the first one, and what has
 * no meaning is refused. null counts as left out.
 */
export class Reader {
  readonly #fields: Fields;
  readonly #path: string;
  readonly #read = new Set<string>();

  /** @throws MusterError `invalid_field` when it is no object. */
  constructor(value: unknown, path: string) {
    if (!isFields(value)) throw invalid(path, 'must be a JSON object');
    this.#fields = value;
    this.#path = path;
  }

  path(name: string): string {
    return this.#path === '' ? name : `${this.#path}.${name}`;
  }

  /** undefined: it is not there, or null. */
  value(name: string): unknown {
    this.#read.add(name);
    return Object.hasOwn(this.#fields, name) ? (this.#fields[name] ?? undefined) : undefined;
  }

  required(name: string): unknown {
    const value = this.value(name);
    if (value === undefined) throw invalid(this.path(name), 'it is missing');
    return value;
  }

  text(name: string, rule: TextRule): string {
    return checkText(this.path(name), this.required(name), rule);
  }

  optionalText(name: string, rule: TextRule): string | null {
    const value = this.value(name);
    return value === undefined || value === '' ? null : checkText(this.path(name), value, rule);
  }

  boolean(name: string, otherwise: boolean): boolean {
    const value = this.value(name) ?? otherwise;
    if (typeof value !== 'boolean') throw invalid(this.path(name), 'must be true or false');
    return value;
  }

  integer(name: string, least: number, most: number): number | null {
    const value = this.value(name);
    if (value === undefined) return null;
    if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
    throw invalid(this.path(name), `must be a whole number from ${least} to ${most}`);
  }

  oneOf<const Choice extends string>(name: string, choices: readonly Choice[], otherwise?: Choice): Choice {
    const value = this.value(name) ?? otherwise;
    if (value === undefined) throw invalid(this.path(name), 'it is missing');
    const chosen = choices.find((choice) => choice === value);
    if (chosen === undefined) throw invalid(this.path(name), `must be one of ${choices.join(', ')}`);
    return chosen;
  }

  /** Empty when it is not there. */
  list<T>(name: string, most: number, read: (value: unknown, path: string) => T): readonly T[] {
    const value = this.value(name) ?? [];
    const path = this.path(name);
    if (!Array.isArray(value)) throw invalid(path, 'must be a list');
    if (value.length > most) throw invalid(path, `must have at most ${most} entries`);
    return value.map((each, index) => read(each, `${path}.${index}`));
  }

  texts(name: string, most: number, rule: TextRule): readonly string[] {
    return this.list(name, most, (value, path) => checkText(path, value, rule));
  }

  /** An object in it; one that is not there is empty. */
  object(name: string): Reader {
    return new Reader(this.value(name) ?? {}, this.path(name));
  }

  /** Accepted, and without any meaning here. */
  ignore(...names: readonly string[]): void {
    for (const name of names) this.#read.add(name);
  }

  /** @throws MusterError `invalid_field` for a field that nothing has read. */
  end(): void {
    const unknown = Object.keys(this.#fields).find((name) => !this.#read.has(name));
    if (unknown !== undefined) throw invalid(this.path(unknown), 'there is no such field');
  }
}
