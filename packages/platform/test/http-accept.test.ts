import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { accepts } from '../src/http/accept.js';

describe('Accept', () => {
  it.each([
    [undefined, true],
    ['', true],
    ['*/*', true],
    ['application/*', true],
    ['application/json', true],
    ['Application/JSON; charset=utf-8', true],
    ['text/html, application/json;q=0.1', true],
    ['text/html', false],
    ['application/json;q=0', false],
    ['*/*;q=0', false],
    ['*/*, application/json;q=0', false],
    ['application/*;q=0, application/json', true],
    ['text/event-stream', false],
  ])('%s allows application/json: %s', (header, allowed) => {
    expect(accepts(header, 'application/json')).toBe(allowed);
  });

  it('never throws', () => {
    fc.assert(fc.property(fc.string(), (header) => void accepts(header, 'application/json')));
  });
});
