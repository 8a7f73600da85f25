import { MusterError } from '@muster/base';
import { FrameParser, type StompVersion } from '@muster/fabric';
import { describe, expect, it } from 'vitest';
import { bytes, LIMITS, MOST_HELD, parse, parseText } from './support.js';

/** Whole, and byte by byte. */
function refusal(data: string | Uint8Array, version: StompVersion = '1.2'): MusterError {
  const input = typeof data === 'string' ? bytes(data) : data;
  const single = Array.from(input, (byte) => Uint8Array.of(byte));
  const [whole, split] = [[input], single].map((chunks) => {
    try {
      parse(chunks, { version });
    } catch (error) {
      if (error instanceof MusterError) return error;
      throw error;
    }
    throw new Error(`accepted: ${JSON.stringify(data)}`);
  });
  expect(split?.code).toBe(whole?.code);
  return whole as MusterError;
}

describe('what is no STOMP is refused, with its first bytes', () => {
  it.each([
    ['an HTTP request', 'GET / HTTP/1.1\r\n\r\n', '"GET / HTTP/1.1\\r\\n"'],
    ['a byte order mark', '\ufeffCONNECT\n\n\0', 'CONNECT\\n'],
    ['a TLS greeting', Uint8Array.of(0x16, 0x03, 0x01, 0x02), '\\u0016\\u0003\\u0001\\u0002'],
    ['a command in small letters', 'connect\n\n\0', '"connect'],
    ['an unknown command', 'SENT\n\n\0', '"SENT\\n\\n'],
    ['a command that goes on', 'CONNECTING\n\n\0', '"CONNECTING'],
    ['a command with a blank', 'SEND \n\n\0', '"SEND \\n'],
    ['a CR without LF between frames', '\rACK\nid:1\n\n\0', '"ACK\\nid:1'],
    ['a NUL between frames', 'ACK\nid:1\n\n\0\0', '"\\u0000"'],
  ])('%s', (_, data, found) => {
    const error = refusal(data);
    expect(error.code).toBe('stomp_not_stomp');
    expect(error.message).toContain(found);
  });

  it('at the first byte that no command has', () => {
    expect(() => parseText('G')).toThrow('got "G"');
    expect(() => parseText('SUBSCRIBER')).toThrow('got "SUBSCRIBER"');
    expect(() => parseText('SUBSCRIBE')).not.toThrow();
  });
});

describe('a header line is refused, and quoted,', () => {
  it.each([
    ['without a colon', 'SEND\ntype:a\nnonsense\n\n\0', '"nonsense"', 'has no colon'],
    ['without a name', 'SEND\n:value\n\n\0', '":value"', 'has no name'],
    ['with a CR within', 'SEND\na:b\rc\n\n\0', '"a:b"', 'has a CR within'],
    ['with a name that is too long', `SEND\n${'n'.repeat(33)}:1\n\n\0`, '"nnnnnnnn', 'more than 32 bytes'],
  ])('%s', (_, data, line, reason) => {
    const error = refusal(data);
    expect(error.code).toBe('stomp_invalid_header');
    expect(error.message).toContain(line);
    expect(error.message).toContain(reason);
    expect(error.message).toContain('SEND');
  });

  it('with an escape that is not defined', () => {
    for (const line of ['a:b\\t', 'a\\x:b', 'a:\\', 'a:\\C']) {
      const error = refusal(`SEND\n${line}\n\n\0`);
      expect(error.code).toBe('stomp_invalid_escape');
    }
  });

  it('with \\r in 1.1, which has no such escape', () => {
    expect(refusal('SEND\na:b\\r\n\n\0', '1.1').code).toBe('stomp_invalid_escape');
    expect(parseText('SEND\na:b\\r\n\n\0').frames[0]?.headers).toEqual([['a', 'b\r']]);
  });
});

describe('a frame is refused', () => {
  it('that is not UTF-8 in its head', () => {
    for (const bad of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xe2, 0x82]]) {
      const error = refusal(Buffer.concat([bytes('SEND\na:'), Uint8Array.from(bad), bytes('\n\n\0')]));
      expect(error.message).toBe('invalid SEND frame: it has a header that is not UTF-8');
    }
  });

  it('that ends before its blank line', () => {
    expect(refusal('SEND\na:b\n\0').message).toContain('NUL before the blank line');
    expect(refusal('SEND\na:b\0c\n\n\0').message).toContain('NUL before the blank line');
  });

  it('that has a body where there may be none', () => {
    for (const command of ['CONNECT', 'SUBSCRIBE', 'ACK', 'RECEIPT', 'DISCONNECT']) {
      expect(refusal(`${command}\n\nx\0`).message).toBe(`invalid ${command} frame: it may not have a body`);
      expect(refusal(`${command}\ncontent-length:1\n\nx\0`).message).toContain('may not have a body');
      expect(parseText(`${command}\ncontent-length:0\n\n\0`).frames).toHaveLength(1);
    }
  });

  it('that has no NUL where its content-length says', () => {
    expect(refusal('SEND\ncontent-length:2\n\nabc\0').message).toContain('no NUL after the 2 bytes of body');
  });
});

describe('scenario 16: lengths', () => {
  it.each(['-1', 'NaN', '', '1.5', '1e3', '0x10', '+1', '1 2', '٣'])('a content-length of %j is refused', (value) => {
    const error = refusal(`SEND\ncontent-length:${value}\n\n\0`);
    expect(error.code).toBe('stomp_invalid_content_length');
    expect(error.message).toBe(`invalid content-length ${JSON.stringify(value)} in a SEND frame`);
  });

  it.each(['257', '4294967296', '9007199254740993', '9'.repeat(400)])(
    'a content-length of %s is refused as soon as its line is read',
    (value) => {
      expect(() => parseText(`SEND\ncontent-length:${value}\n`)).toThrow(
        'the body of a SEND frame is beyond the limit of 256 bytes',
      );
    },
  );

  it.each([0, 1, 255, 256])('a body of %i bytes is taken, counted or not, split anywhere', (size) => {
    const body = 'b'.repeat(size);
    for (const head of ['', `content-length:${size}\n`]) {
      const data = bytes(`SEND\n${head}\n${body}\0`);
      for (let cut = 0; cut <= data.length; cut++) {
        const { frames, mostHeld } = parse([data.subarray(0, cut), data.subarray(cut)]);
        expect(frames).toMatchObject([{ command: 'SEND', body: { length: size } }]);
        expect(mostHeld).toBe(cut === data.length ? 0 : cut);
      }
    }
  });

  it('a body of one byte more than the limit is refused, counted or not, split anywhere', () => {
    for (const head of ['', 'content-length:257\n']) {
      const data = bytes(`SEND\n${head}\n${'b'.repeat(257)}\0`);
      for (let cut = 0; cut <= data.length; cut++) {
        expect(() => parse([data.subarray(0, cut), data.subarray(cut)])).toThrow('beyond the limit of 256 bytes');
      }
    }
  });

  it('a body without an end is refused when it is beyond the limit', () => {
    expect(() => parseText(`SEND\n\n${'b'.repeat(256)}`)).not.toThrow();
    expect(() => parseText(`SEND\n\n${'b'.repeat(257)}`)).toThrow('the body of a SEND frame is beyond');
  });

  it('a head of the limit is taken, one byte more is refused', () => {
    const head = (size: number) => `SEND\na:${'v'.repeat(size - 9)}\n\n`;
    expect(parseText(`${head(1024)}\0`).frames).toHaveLength(1);
    expect(refusal(`${head(1025)}\0`).message).toBe('the head of a SEND frame is beyond the limit of 1024 bytes');
  });

  it('a header longer than a packet is refused without waiting for its end', () => {
    const error = refusal(`SEND\na:${'v'.repeat(5000)}`);
    expect(error.code).toBe('stomp_too_large');
    expect(parse([bytes(`SEND\na:${'v'.repeat(1016)}`)]).mostHeld).toBe(1023);
    expect(() => parseText(`SEND\na:${'v'.repeat(1017)}`)).toThrow('the head of a SEND frame');
  });

  it('as many headers as the limit are taken, one more is refused', () => {
    expect(parseText(`SEND\n${'a:1\n'.repeat(16)}\n\0`).frames[0]?.headers).toHaveLength(16);
    expect(refusal(`SEND\n${'a:1\n'.repeat(17)}\n\0`).message).toContain('beyond the limit of 16 headers');
  });

  it('a name of the limit is taken', () => {
    expect(parseText(`SEND\n${'n'.repeat(32)}:1\n\n\0`).frames).toHaveLength(1);
  });

  it('the longest frame of all is held in exactly its length', () => {
    const head = `SEND\na:${'v'.repeat(1024 - 9)}\n\n`;
    const data = bytes(`${head}${'b'.repeat(256)}\0ACK\nid:1\n\n\0`);
    expect(data.length).toBeGreaterThan(MOST_HELD);
    const { frames, mostHeld } = parse(Array.from(data, (byte) => Uint8Array.of(byte)));
    expect(frames).toHaveLength(2);
    expect(mostHeld).toBe(MOST_HELD - 1);
    expect(parse([data.subarray(0, 1000), data.subarray(1000)]).frames).toHaveLength(2);
  });

  it('an announced body is not kept room for before it comes', () => {
    const limits = { ...LIMITS, bodyBytes: 1_000_000_000 };
    const before = process.memoryUsage().arrayBuffers;
    const parsers = Array.from({ length: 100 }, () => new FrameParser(limits, { frame: () => undefined }));
    for (const parser of parsers) parser.push(bytes('SEND\ncontent-length:1000000000\n\nb'));
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10_000_000);
  });
});
