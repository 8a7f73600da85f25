import { encodeFrame, escapeHeader, frame, headerLine, type StompVersion, unescapeHeader } from '@muster/fabric';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse, parseText, text } from './support.js';

describe('escapes', () => {
  it('of 1.2 are for LF, CR, colon and backslash', () => {
    expect(escapeHeader('a\nb\rc:d\\e', '1.2')).toBe('a\\nb\\rc\\cd\\\\e');
    expect(unescapeHeader('a\\nb\\rc\\cd\\\\e', '1.2')).toBe('a\nb\rc:d\\e');
  });

  it('are read from left to right', () => {
    expect(unescapeHeader('\\\\n', '1.2')).toBe('\\n');
    expect(unescapeHeader('\\\\\\n', '1.2')).toBe('\\\n');
  });

  it('of 1.1 do not know CR', () => {
    expect(escapeHeader('a\nb\rc:d\\e', '1.1')).toBe('a\\nb\rc\\cd\\\\e');
  });

  it('are unknown to 1.0, where no value can make a line of its own all the same', () => {
    expect(escapeHeader('a\nb\rc:d\\e', '1.0')).toBe('a\\nb\\rc:d\\e');
    expect(parseText('SEND\na:b\\n\\q\n\n\0', { version: '1.0' }).frames[0]?.headers).toEqual([['a', 'b\\n\\q']]);
  });

  it('and what they mean are inverse', () => {
    for (const version of ['1.1', '1.2'] as const) {
      fc.assert(
        fc.property(
          fc.string({ unit: 'binary' }),
          (any) => unescapeHeader(escapeHeader(any, version), version) === any,
        ),
      );
    }
  });
});

describe('CONNECT and CONNECTED', () => {
  it.each(['CONNECT', 'STOMP', 'CONNECTED'])('%s is not unescaped, whatever the version', (command) => {
    for (const version of ['1.0', '1.1', '1.2'] as const) {
      const { frames } = parseText(`${command}\naccept-version:1.2\npasscode:a\\tb\\c:d\n\n\0`, { version });
      expect(frames[0]?.headers[1]).toEqual(['passcode', 'a\\tb\\c:d']);
    }
  });

  it('are not escaped when written', () => {
    expect(text(encodeFrame(frame('CONNECT', [['passcode', 'a\\b:c']])))).toBe('CONNECT\npasscode:a\\b:c\n\n\0');
  });

  it('cannot be written with a line end in a header', () => {
    for (const bad of [
      ['a', 'b\nc'],
      ['a\nb', 'c'],
      ['a', 'b\r'],
      ['a:b', 'c'],
    ] as [string, string][]) {
      expect(() => encodeFrame(frame('CONNECT', [bad]))).toThrow('invalid CONNECT frame');
    }
  });

  it('of 1.0 may have blanks around values', () => {
    expect(parseText('CONNECT\nlogin: org/ada\npasscode: x \n\n\0').frames[0]?.headers).toEqual([
      ['login', 'org/ada'],
      ['passcode', 'x'],
    ]);
    const { frames } = parseText('CONNECT\naccept-version:1.2\npasscode: x \n\n\0');
    expect(frames[0]?.headers[1]).toEqual(['passcode', ' x ']);
  });
});

describe('a frame that is written', () => {
  it('has the content-length of its body, whatever its headers say', () => {
    const body = Buffer.from('ä\0b');
    const written = encodeFrame(
      frame(
        'SEND',
        [
          ['content-length', '99'],
          ['type', 'a'],
        ],
        body,
      ),
    );
    expect(text(written)).toBe('SEND\ntype:a\ncontent-length:4\n\nä\0b\0');
  });

  it('without a body has no content-length', () => {
    expect(text(encodeFrame(frame('SEND', [['type', 'a']])))).toBe('SEND\ntype:a\n\n\0');
  });

  it('cannot have a NUL in a header', () => {
    expect(() => encodeFrame(frame('SEND', [['a', 'b\0c']]))).toThrow('invalid SEND frame: it has a NUL in a header');
  });

  it('is read as it was meant, in every version', () => {
    const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 5 }).filter((any) => !/[\0\r\n:]/.test(any));
    const value = fc.string({ unit: 'grapheme', maxLength: 20 }).filter((any) => !/[\0\r\n]/.test(any));
    const versions: StompVersion[] = ['1.0', '1.1', '1.2'];
    fc.assert(
      fc.property(
        fc.array(fc.tuple(name, value), { maxLength: 10 }),
        fc.constantFrom(...versions),
        (headers, version) => {
          const expected = version === '1.0' ? headers.map((pair) => pair.map((any) => any.trim())) : headers;
          const limits = { headBytes: 10_000, bodyBytes: 0, headers: 16, headerNameBytes: 1000 };
          const { frames } = parse([encodeFrame(frame('ACK', headers), version)], { version, limits });
          expect(frames[0]?.headers.filter(([key]) => key !== 'content-length')).toEqual(
            expected.filter(([key]) => key !== 'content-length'),
          );
        },
      ),
    );
  });

  it('has lines that end with LF', () => {
    expect(headerLine('a:b', 'c\nd')).toBe('a\\cb:c\\nd\n');
  });
});
