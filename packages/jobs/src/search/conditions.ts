import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { validatorProblem } from '../apps/validators.js';
import { echo, refused } from '../request/refusal.js';
import { FOREIGN_STATUSES, STATUSES } from '../status.js';
import { dayOf, readSpan, type Span, secondOf } from './dates.js';
import type { Field, Fields, FieldType } from './fields.js';

export type Sql = RawBuilder<SqlBool>;

/** Something that is looked for in each row, as the database cannot. */
export interface Look<Column extends string = string> {
  readonly column: Column;
  readonly pattern: string;
}

type Sought<Column extends string> = { readonly sql: Sql } | { readonly look: Look<Column> };

const OPERATORS = [
  'eq',
  'neq',
  'lt',
  'lte',
  'gt',
  'gte',
  'in',
  'nin',
  'like',
  'nlike',
  'rlike',
  'between',
  'on',
  'before',
  'after',
] as const;

type Operator = (typeof OPERATORS)[number];

const COMPARED: readonly Operator[] = ['eq', 'neq', 'lt', 'lte', 'gt', 'gte'];
const TEXTUAL: readonly Operator[] = ['eq', 'neq', 'in', 'nin', 'like', 'nlike'];

/** What is meant for which type (sheet §8.5). */
const FOR_TYPE: Readonly<Record<FieldType, readonly Operator[]>> = {
  text: [...TEXTUAL, 'rlike'],
  status: TEXTUAL,
  event: TEXTUAL,
  boolean: ['eq', 'neq'],
  integer: COMPARED,
  number: COMPARED,
  hours: COMPARED,
  date: ['eq', 'lt', 'lte', 'gt', 'gte', 'between', 'on', 'before', 'after'],
};

const MOST_CHARACTERS = 1024;
const MOST_MEMBERS = 250;

interface Sense<Column extends string> {
  readonly fields: Fields<Column>;
  readonly now: number;
}

/**
 * Understands one `FIELD[.OPERATOR]=VALUE`. An ending that is no operator belongs to the name.
 * @throws MusterError `job_invalid`
 */
function readCondition<Column extends string>(
  { fields, now }: Sense<Column>,
  name: string,
  value: string,
): Sought<Column> {
  const { field, operator } = split(fields, name);
  if (value.length > MOST_CHARACTERS || /[\0\p{Surrogate}]/u.test(value)) {
    throw refused('ALOE_INVALID_PARAMETER', name, `must have at most ${MOST_CHARACTERS} characters, and be text`);
  }
  const allowed = FOR_TYPE[field.type];
  if (!allowed.includes(operator)) {
    throw refused('ALOE_INVALID_PARAMETER', name, `it has no operator ${operator}: use ${allowed.join(', ')}`);
  }
  switch (field.type) {
    case 'date':
      return { sql: ofDate(field, operator, name, value, now) };
    case 'boolean':
      return { sql: compared(field, operator, Number(readBoolean(name, value))) };
    case 'integer':
      return { sql: compared(field, operator, readInteger(name, value)) };
    case 'number':
      return { sql: compared(field, operator, readDecimal(name, value)) };
    case 'hours':
      return { sql: compared(field, operator, readHours(name, value)) };
    case 'status':
      return { sql: ofText(field, operator, name, readStatuses(operator, name, value)) };
    case 'event':
      return { sql: ofText(field, operator, name, value.toUpperCase()) };
    case 'text':
      return operator === 'rlike'
        ? { look: readPattern(field, name, value) }
        : { sql: ofText(field, operator, name, value) };
  }
}

/** Conditions, all of which must hold. */
export interface Conditions<Column extends string> {
  readonly sql: readonly Sql[];
  readonly looks: readonly Look<Column>[];
  /** The query parameter on account of which rows are looked at; empty: none is. */
  readonly because: string;
}

/** @throws MusterError `job_invalid` */
export function readConditions<Column extends string>(
  sense: Sense<Column>,
  conditions: readonly (readonly [name: string, value: string])[],
): Conditions<Column> {
  const parts: Sql[] = [];
  const looks: Look<Column>[] = [];
  let because = '';
  for (const [name, value] of conditions) {
    const sought = readCondition(sense, name, value);
    if ('sql' in sought) {
      parts.push(sought.sql);
    } else {
      looks.push(sought.look);
      because = name;
    }
  }
  return { sql: parts, looks, because };
}

/** By which field to sort. @throws MusterError `job_invalid` */
export function orderField(fields: Fields<string>, name: string): Field<string> {
  const field = fields.get(name.toLowerCase());
  if (field === undefined) throw refused('ALOE_INVALID_PARAMETER', 'orderBy', `there is no field '${echo(name)}'`);
  return field;
}

function split<Column extends string>(
  fields: Fields<Column>,
  name: string,
): { readonly field: Field<Column>; readonly operator: Operator } {
  const lower = name.toLowerCase();
  const dot = lower.lastIndexOf('.');
  const operator = dot === -1 ? undefined : OPERATORS.find((one) => one === lower.slice(dot + 1));
  const field = fields.get(operator === undefined ? lower : lower.slice(0, dot));
  if (field !== undefined) return { field, operator: operator ?? 'eq' };
  const known = [...fields.keys()].join(', ');
  throw refused('ALOE_INVALID_PARAMETER', name, `there is no such field: search by ${known}`);
}

const SIGNS: Readonly<Partial<Record<Operator, Sql>>> = {
  eq: sql`=`,
  lt: sql`<`,
  lte: sql`<=`,
  gt: sql`>`,
  gte: sql`>=`,
};

function compared({ value: left }: Field<string>, operator: Operator, right: number): Sql {
  // Its type is told: PostgreSQL would take it for that of the other side.
  const given = sql`cast(${right} as double precision)`;
  if (operator === 'neq') return sql`(${left} is null or ${left} <> ${given})`;
  return sql`${left} ${SIGNS[operator]} ${given}`;
}

function ofText({ value: left }: Field<string>, operator: Operator, name: string, value: string): Sql {
  switch (operator) {
    case 'neq':
      return sql`(${left} is null or ${left} <> ${value})`;
    case 'in':
      return sql`${left} in (${sql.join(members(name, value))})`;
    case 'nin':
      return sql`(${left} is null or ${left} not in (${sql.join(members(name, value))}))`;
    case 'like':
      return like(left, value);
    case 'nlike':
      return sql`(${left} is null or not ${like(left, value)})`;
    default:
      return sql`${left} = ${value}`;
  }
}

/** `*` stands for anything, and nothing else has a meaning; case does not matter. */
function like(left: RawBuilder<unknown>, value: string): Sql {
  if (!value.includes('*')) return sql`${left} = ${value}`;
  const pattern = value.replace(/[\\%_]/g, '\\$&').replace(/\*+/g, '%');
  return sql`lower(${left}) like lower(${pattern}) escape ${'\\'}`;
}

function members(name: string, value: string): readonly string[] {
  const list = value.split(',').map((one) => one.trim());
  if (list.length > MOST_MEMBERS)
    throw refused('ALOE_INVALID_PARAMETER', name, `has more than ${MOST_MEMBERS} members`);
  return list;
}

function readPattern<Column extends string>({ column }: Field<Column>, name: string, value: string): Look<Column> {
  const problem = validatorProblem(value);
  if (problem !== null) throw refused('ALOE_INVALID_PARAMETER', name, problem);
  if (column === null) throw refused('ALOE_INVALID_PARAMETER', name, 'it has no operator rlike');
  return { column, pattern: value };
}

const KNOWN_STATUSES: ReadonlySet<string> = new Set([...STATUSES, ...FOREIGN_STATUSES]);

function readStatuses(operator: Operator, name: string, value: string): string {
  const upper = value.toUpperCase();
  const given = operator === 'in' || operator === 'nin' ? members(name, upper) : [upper.trim()];
  for (const status of given) {
    if (status.includes('*') || KNOWN_STATUSES.has(status)) continue;
    throw refused('ALOE_INVALID_PARAMETER', name, `Unknown job status ${echo(status)}`);
  }
  return given.join(',');
}

function readBoolean(name: string, value: string): boolean {
  const lower = value.trim().toLowerCase();
  if (lower === 'true' || lower === '1') return true;
  if (lower === 'false' || lower === '0') return false;
  throw refused('ALOE_INVALID_PARAMETER', name, `Illegal boolean value for ${name}: true or false`);
}

function readInteger(name: string, value: string): number {
  if (/^[+-]?\d{1,15}$/.test(value.trim())) return Number(value);
  throw refused('ALOE_INVALID_PARAMETER', name, `Illegal integer value for ${name}`);
}

function readDecimal(name: string, value: string): number {
  if (/^[+-]?(?:\d{1,15}(?:\.\d{0,9})?|\.\d{1,9})$/.test(value.trim())) return Number(value);
  throw refused('ALOE_INVALID_PARAMETER', name, `Illegal decimal value for ${name}`);
}

/** Seconds of a number of hours, or of `HH:mm:ss`. */
function readHours(name: string, value: string): number {
  const [, hours, minutes, seconds] = /^(\d{1,6}):(\d\d):(\d\d)$/.exec(value.trim()) ?? [];
  if (hours === undefined) return Math.round(readDecimal(name, value) * 3600);
  return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
}

function ofDate({ value: left }: Field<string>, operator: Operator, name: string, value: string, now: number): Sql {
  const illegal = () => refused('ALOE_INVALID_PARAMETER', name, `Illegal date format for ${name}`);
  const within = ({ first, last }: { readonly first: number; readonly last: number }): Sql =>
    sql`${left} between ${first} and ${last}`;
  if (operator === 'between') {
    const both = readBetween(value, now);
    if (both === null) {
      throw refused('ALOE_INVALID_PARAMETER', name, `Illegal date format for ${name}: two dates, START,END`);
    }
    return within(both);
  }
  const span = readSpan(value, now);
  if (span === null) throw illegal();
  const at = span.first;
  switch (operator) {
    case 'on':
      return within(dayOf(at));
    case 'before':
    case 'lt':
      return sql`${left} < ${at}`;
    case 'lte':
      return sql`${left} <= ${at}`;
    case 'after':
    case 'gt':
      return sql`${left} > ${at}`;
    case 'gte':
      return sql`${left} >= ${at}`;
    default:
      // Old clients send `starttime=2019-05-01`, and mean that day.
      return within(span.last > at ? span : secondOf(at));
  }
}

/** A date may have a comma in it: `May 1, 2019,yesterday`. */
function readBetween(value: string, now: number): Span | null {
  for (let comma = value.indexOf(','); comma !== -1; comma = value.indexOf(',', comma + 1)) {
    const from = readSpan(value.slice(0, comma), now);
    const to = readSpan(value.slice(comma + 1), now);
    if (from !== null && to !== null) return { first: from.first, last: to.last };
  }
  return null;
}
