import { describe, expect, it } from 'vitest';
import { ARGUMENT_BYTES, ArgumentsError, fillArguments, judgeExit, parseArguments } from '../src/contract/index.js';

const filled = (args: readonly string[], params: Parameters<typeof fillArguments>[1]) =>
  fillArguments(parseArguments(args), params);

describe('arguments of the simple contract', () => {
  it('puts parameters in place, each as text', () => {
    const params = { s: 'a b', n: 1.5, yes: true, none: null, list: [1, 'x'], map: { k: 'v' } };
    expect(filled(['-x', '{s}', '--n={n}{yes}', '{none}', '{list}', '{map}'], params)).toEqual({
      argv: ['-x', 'a b', '--n=1.5true', 'null', '[1,"x"]', '{"k":"v"}'],
    });
  });

  it('takes doubled braces as braces, and leaves those in values alone', () => {
    expect(filled(['{{{a}}}', '{{b}}'], { a: '{c}' })).toEqual({ argv: ['{{c}}', '{b}'] });
  });

  it('names the parameter that is missing, also one that every object has', () => {
    expect(filled(['{width}'], {})).toEqual({
      error: "parameter 'width' is missing, which the arguments of the plugin need; add the task again with it",
    });
    expect(filled(['{toString}'], {})).toHaveProperty('error');
  });

  it('refuses what no argument can hold', () => {
    expect(filled(['{a}'], { a: 'x\0y' })).toEqual({
      error: "parameter 'a': an argument cannot hold a NUL character",
    });
    expect(filled(['{a}'], { a: 'x'.repeat(ARGUMENT_BYTES) })).toHaveProperty('argv');
    expect(filled(['{a}'], { a: 'x'.repeat(ARGUMENT_BYTES + 1) })).toHaveProperty('error');
  });

  it.each(['{', 'a}', '{}', '{a b}', '{"a":1}', '{a{b}}'])('refuses %s in the configuration', (arg) => {
    expect(() => parseArguments([arg])).toThrow(ArgumentsError);
  });
});

describe('the exit of the simple contract', () => {
  it.each([
    [
      { exitCode: 0, signal: null },
      { status: 1, retry: false, reason: null },
    ],
    [
      { exitCode: 75, signal: null },
      { status: 2, retry: true, reason: 'exit status 75' },
    ],
    [
      { exitCode: 1, signal: null },
      { status: 2, retry: false, reason: 'exit status 1' },
    ],
    [
      { exitCode: null, signal: 'SIGKILL' },
      { status: 2, retry: false, reason: 'killed by SIGKILL' },
    ],
  ])('%j means %j', (exit, judged) => {
    expect(judgeExit(exit)).toEqual({ ...judged, ...exit });
  });
});
