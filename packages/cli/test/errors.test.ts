import { declaredErrors, type ErrorCode, MusterError } from '@muster/base';
import { describe, expect, test } from 'vitest';
import '../src/known-errors.js';

describe('of all errors', () => {
  test.each([...declaredErrors().keys()] as ErrorCode[])('%s has no two stops in a row', (code) => {
    expect(MusterError.told(code, {}).advice).not.toMatch(/(?<!\.)\.\.(?!\.)/);
  });

  test('each says what to do', () => {
    const silent = [...declaredErrors()].filter(([, { fix }]) => fix.trim() === '').map(([code]) => code);
    expect(silent).toEqual([]);
  });
});
