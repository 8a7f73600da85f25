import { concat, FrameParser, messagePrefix, messageTail, tailFor, tailOf } from '@muster/fabric';
import { describe, expect, it } from 'vitest';
import { bytes, LIMITS, parse, parseText, text } from './support.js';

const LINES = 'destination:/topic/events\nmessage-id:7\ntype:a\\cb\n';

describe('a MESSAGE', () => {
  it('is a prefix of its subscription and a tail that all share', () => {
    const tail = messageTail(LINES, bytes('bo\0dy'));
    expect(text(concat([messagePrefix('s:1'), tail]))).toBe(
      `MESSAGE\nsubscription:s\\c1\n${LINES}content-length:5\n\nbo\0dy\0`,
    );
    expect(text(messagePrefix('1', 'a-1'))).toBe('MESSAGE\nsubscription:1\nack:a-1\n');
  });

  it('always has a content-length', () => {
    expect(text(messageTail('', bytes('')))).toBe('content-length:0\n\n\0');
  });

  it.each([
    ['first', 'subscription:1\nack:2\na:1\nb:2\n'],
    ['the other way round', 'ack:2\nsubscription:1\na:1\nb:2\n'],
    ['last', 'a:1\nb:2\nsubscription:1\nack:2\n'],
    ['in between', 'a:1\nsubscription:1\nb:2\n'],
    ['absent', 'a:1\nb:2\n'],
    ['with CR LF', 'subscription:1\r\na:1\nb:2\n'],
  ])('gives back its tail verbatim, with its subscription and ack %s', (_, lines) => {
    expect(tailText(`MESSAGE\n${lines}\nbody\0`)).toBe('a:1\nb:2\n\nbody\0');
  });
});

describe('a tail for an older version', () => {
  it('is the same one when nothing in its head is escaped', () => {
    const tail = messageTail('type:a\n', bytes('\\n\n\n'));
    expect(tailFor(tail, '1.0')).toBe(tail);
    expect(tailFor(tail, '1.1')).toBe(tail);
  });

  it('is the same one when that version knows all of its escapes', () => {
    const tail = messageTail('type:a\\cb\n', bytes('\\r'));
    expect(tailFor(tail, '1.1')).toBe(tail);
    const withCr = bytes('type:a\r\n\r\n\0');
    expect(tailFor(withCr, '1.1')).toBe(withCr);
  });

  it('is written anew with the escapes of that version', () => {
    const tail = messageTail('type:a\\cb\\rc\\nd\n', bytes('\0x\\'));
    expect(tailFor(tail, '1.2')).toBe(tail);
    expect(text(tailFor(tail, '1.1'))).toBe('type:a\\cb\rc\\nd\ncontent-length:3\n\n\0x\\\0');
    expect(text(tailFor(tail, '1.0'))).toBe('type:a:b\\rc\\nd\ncontent-length:3\n\n\0x\\\0');
  });

  it('is read by it as it was meant', () => {
    const tail = messageTail('type:a\\cb\\\\c\\nd\n', bytes('x'));
    const { frames } = parse([messagePrefix('1', undefined, '1.1'), tailFor(tail, '1.1')], { version: '1.1' });
    expect(frames[0]?.headers[1]).toEqual(['type', 'a:b\\c\nd']);
    expect(parseText('MESSAGE\ntype:a\\cb\n\n\0', { version: '1.1' }).frames).toHaveLength(1);
  });
});

function tailText(data: string): string {
  let tail = '';
  new FrameParser(LIMITS, { frame: (raw) => (tail = text(tailOf(raw))) }).push(bytes(data));
  return tail;
}
