import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readApp } from '../../src/apps/definition.js';
import type { App } from '../../src/apps/types.js';
import { checkValues } from '../../src/apps/values.js';
import { MusterError } from '../../src/errors.js';
import { WC } from '../support/apps.js';

const app = readApp(WC);
const check = (inputs: object, parameters: object = {}, of: Pick<App, 'id' | 'inputs' | 'parameters'> = app) =>
  checkValues({ app: of, job: 'my-job' }, { inputs: { ...inputs }, parameters: { ...parameters } });
const told = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    if (error instanceof MusterError) return `${error.status} ${error.message}`;
    throw error;
  }
  return 'accepted';
};
const QUERY = { query1: 'in/a.txt' };

describe('inputs and parameters that fit the app', () => {
  test('are taken as they were given; what is fixed has its value', () => {
    const { inputs, parameters } = check(
      { query1: ['agave://store/a.txt', 'b.txt'] },
      { evalue: 2, printLongestLine: true, mode: 'slow', words: ['a', 'b'] },
    );
    expect(inputs).toEqual({ query1: ['agave://store/a.txt', 'b.txt'] });
    expect(parameters).toEqual({
      evalue: 2,
      printLongestLine: true,
      mode: 'slow',
      words: ['a', 'b'],
      secret_mode: 'x',
    });
  });

  test('what is optional and not given stays away, also where it has a default', () => {
    expect(check(QUERY).parameters).toEqual({ secret_mode: 'x' });
  });

  test('what is required and not given has the default of the app', () => {
    expect(check({}).inputs).toEqual({ query1: 'in/a.txt' });
  });
});

describe('what does not fit is refused (sheet §1.3)', () => {
  const bare = { ...app, inputs: app.inputs.map((one) => ({ ...one, default: [] })) };

  test.each<[string, object, object]>([
    [
      "JOBS_PROHIBITED_ARG_VALUE job 'my-job' gives a value for the parameter 'secret_mode' (parameters.secret_mode)",
      QUERY,
      { secret_mode: 'x' },
    ],
    [
      "JOBS_UNDEFINED_ARG_VALUE job 'my-job' gives a value for 'query2' (inputs.query2): app wc-1.0 has no such input",
      { query2: 'a' },
      {},
    ],
    ["JOBS_UNDEFINED_ARG_VALUE job 'my-job' gives a value for 'toString'", QUERY, { toString: 1 }],
    ["JOBS_BAD_ARG_VALUE_ENTRY job 'my-job': the input 'query1' (inputs.query1)", { query1: 7 }, {}],
    ['JOBS_BAD_ARG_VALUE_ENTRY', { query1: { a: 1 } }, {}],
    ['JOBS_BAD_ARG_VALUE_ENTRY', { query1: ['a.txt', null] }, {}],
    [
      "JOBS_ARG_VALUE_MIN_SIZE job 'my-job': the input 'query1' (inputs.query1) has 0 values and needs 1",
      { query1: [] },
      {},
    ],
    ['JOBS_ARG_VALUE_MAX_SIZE', { query1: ['a.txt', 'b.txt', 'c.txt'] }, {}],
    ['JOBS_ARG_VALUE_MAX_SIZE', QUERY, { printLongestLine: [true, false] }],
    [
      "JOBS_ARG_VALUE_CONFORMANCE job 'my-job': the input 'query1' (inputs.query1) has the value 'a.doc'",
      { query1: 'a.doc' },
      {},
    ],
    ['JOBS_ARG_VALUE_CONFORMANCE', QUERY, { evalue: -1 }],
    ['JOBS_INPUT_URI_PARSE_ERROR', { query1: 'https://' }, {}],
    ['JOBS_INPUT_URI_PARSE_ERROR', { query1: '' }, {}],
    ['JOBS_INPUT_URI_PARSE_ERROR', { query1: 'agave:///a.txt' }, {}],
    ['JOBS_INPUT_URI_PARSE_ERROR', { query1: '../etc/a.txt' }, {}],
    ['JOBS_INPUT_URI_PARSE_ERROR', { query1: 'agave://store/a/%2e%2e%2f..%2f/a.txt' }, {}],
    [
      "JOBS_INPUT_UNSUPPORTED_SCHEME job 'my-job': the input 'query1' (inputs.query1) has the scheme 'gridftp'",
      { query1: 'gridftp://host/a.txt' },
      {},
    ],
    ['JOBS_INPUT_UNSUPPORTED_SCHEME', { query1: 'file:///etc/a.txt' }, {}],
    [
      "JOBS_PARAMETER_TYPE_MISMATCH job 'my-job': the parameter 'evalue' (parameters.evalue) is of the type number, not string",
      QUERY,
      { evalue: '1' },
    ],
    ['JOBS_PARAMETER_TYPE_MISMATCH', QUERY, { printLongestLine: 'true' }],
    ['JOBS_PARAMETER_TYPE_MISMATCH', QUERY, { words: [1] }],
    ['is of the type string, not null', QUERY, { words: null }],
    [
      "JOBS_INVALID_PARAMETER_VALUE job 'my-job': the parameter 'words' (parameters.words) of the type string",
      QUERY,
      { words: 'a\0b' },
    ],
    [
      "JOBS_PARAMETER_ENUM_NOT_FOUND job 'my-job': the parameter 'mode' (parameters.mode) of app wc-1.0 cannot be 'best'",
      QUERY,
      { mode: 'best' },
    ],
  ])('%s', (expected, inputs, parameters) => {
    const message = told(() => check(inputs, parameters));
    expect(message).toContain(expected);
    expect(message).toMatch(/^400 JOBS_/);
  });

  test('JOBS_MISSING_ARG_VALUE where the app has no default either', () => {
    expect(told(() => check({}, {}, bare))).toBe(
      "400 JOBS_MISSING_ARG_VALUE job 'my-job' gives no value for the required input 'query1' (inputs.query1)",
    );
  });

  test('JOBS_INVALID_PARAMETER_TYPE of a definition that was stored with a type nobody knows', () => {
    const parameters = app.parameters.map((one) => ({ ...one, type: 'date' as 'string' }));
    expect(told(() => check(QUERY, { evalue: 1 }, { ...app, parameters }))).toContain(
      "JOBS_INVALID_PARAMETER_TYPE job 'my-job': the parameter 'evalue' (parameters.evalue) is of the type 'date'",
    );
  });

  test('in bounded time, whatever the validator is', () => {
    const inputs = app.inputs.map((one) => ({ ...one, validator: '(a+)+$', default: [] }));
    const began = performance.now();
    expect(told(() => check({ query1: `${'a'.repeat(16_000)}!` }, {}, { ...app, inputs }))).toContain('CONFORMANCE');
    expect(performance.now() - began).toBeLessThan(5000);
  });

  test('never by anything but a declared error', () => {
    const keys = fc.constantFrom('query1', 'evalue', 'mode', 'words', 'printLongestLine', '__proto__', 'x');
    const values = fc.dictionary(keys, fc.oneof(fc.jsonValue(), fc.webUrl(), fc.string()));
    fc.assert(
      fc.property(values, values, (inputs, parameters) => {
        expect(told(() => checkValues({ app, job: 'j' }, { inputs, parameters }))).toMatch(/^(accepted$|400 JOBS_)/);
      }),
    );
  });
});
