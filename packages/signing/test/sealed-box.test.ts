import { describe, expect, test } from 'vitest';
import { isBoxKey, newBoxKey, sealBox } from '../src/sealed-box.js';

describe('a sealed box', () => {
  test('opens with the key it was sealed for, and hides what it holds', () => {
    const reader = newBoxKey();
    expect(isBoxKey(reader.publicKey)).toBe(true);
    const box = sealBox(reader.publicKey, 'job 1', Buffer.from('hunter2hunter2'));
    expect(reader.open(box, 'job 1').toString()).toBe('hunter2hunter2');
    expect(JSON.stringify(box)).not.toContain(Buffer.from('hunter2').toString('base64').slice(0, 8));
  });

  test('does not open for another reader, for something else, or when it was changed', () => {
    const reader = newBoxKey();
    const box = sealBox(reader.publicKey, 'job 1', Buffer.from('hunter2hunter2'));
    expect(() => newBoxKey().open(box, 'job 1')).toThrow();
    expect(() => reader.open(box, 'job 2')).toThrow();
    const sealed = Buffer.from(box.sealed, 'base64');
    sealed[0] = (sealed[0] ?? 0) ^ 1;
    expect(() => reader.open({ ...box, sealed: sealed.toString('base64') }, 'job 1')).toThrow();
    expect(() => reader.open({ ...box, key: 'short' }, 'job 1')).toThrow('the box has no key');
    expect(() => reader.open({ ...box, tag: '' }, 'job 1')).toThrow();
  });
});
