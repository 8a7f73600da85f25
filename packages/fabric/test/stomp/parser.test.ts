import { FrameParser, type RawFrame } from '@muster/fabric';
import { describe, expect, it } from 'vitest';
import { bytes, LIMITS, parse, parseText, text } from './support.js';

describe('a frame', () => {
  it('is its command, its headers in order and its body', () => {
    const [frame] = parseText('SEND\ndestination:/topic/events\ntype:temp.high\n\nhot\0').frames;
    expect(frame).toMatchObject({
      command: 'SEND',
      headers: [
        ['destination', '/topic/events'],
        ['type', 'temp.high'],
      ],
    });
    expect(text(frame?.body ?? bytes('none'))).toBe('hot');
  });

  it('may have neither headers nor body', () => {
    expect(parseText('DISCONNECT\n\n\0').frames).toMatchObject([{ command: 'DISCONNECT', headers: [] }]);
  });

  it('may end its lines with CR LF', () => {
    expect(parseText('SUBSCRIBE\r\nid:1\r\nselector:\r\n\r\n\0').frames).toMatchObject([
      {
        headers: [
          ['id', '1'],
          ['selector', ''],
        ],
      },
    ]);
  });

  it('keeps a header that is repeated, and the first one counts', () => {
    const [frame] = parseText('MESSAGE\nfoo:World\nfoo:Hello\n\n\0').frames;
    expect(frame?.headers).toEqual([
      ['foo', 'World'],
      ['foo', 'Hello'],
    ]);
    read('MESSAGE\nfoo:World\nfoo:Hello\n\n\0', (raw) => expect(raw.header('foo')).toBe('World'));
  });

  it('may have blanks in values, which belong to them', () => {
    expect(parseText('SEND\na: b \n\n\0').frames[0]?.headers).toEqual([['a', ' b ']]);
  });

  it('may have colons in values', () => {
    expect(parseText('SEND\na:b:c\n\n\0').frames[0]?.headers).toEqual([['a', 'b:c']]);
  });

  it('with a content-length may have NULs in its body', () => {
    const [frame] = parseText('SEND\ncontent-length:5\n\na\0b\0\0\0').frames;
    expect(text(frame?.body ?? bytes(''))).toBe('a\0b\0\0');
  });

  it('without a content-length ends at the first NUL', () => {
    const [frame] = parseText('SEND\n\nab\0\n').frames;
    expect(text(frame?.body ?? bytes(''))).toBe('ab');
  });

  it('with two content-lengths is as long as the first says', () => {
    expect(text(parseText('SEND\ncontent-length:3\ncontent-length:1\n\na\0b\0').frames[0]?.body ?? bytes(''))).toBe(
      'a\0b',
    );
  });

  it('may have many headers, and the next one few', () => {
    const headers = Array.from({ length: 100 }, (_, index) => [`n${index}`, String(index)]);
    const lines = headers.map(([name, value]) => `${name}:${value}\n`).join('');
    const data = bytes(`SEND\n${lines}\n\0ACK\nid:1\n\n\0`);
    const limits = { ...LIMITS, headers: 100 };
    for (const cut of [0, 100, 300, data.length - 3]) {
      const { frames } = parse([data.subarray(0, cut), data.subarray(cut)], { limits });
      expect(frames).toMatchObject([{ headers }, { headers: [['id', '1']] }]);
    }
  });

  it('may come with others in one read', () => {
    const { frames } = parseText('BEGIN\ntransaction:t\n\n\0SEND\ncontent-length:1\n\n\0\0COMMIT\ntransaction:t\n\n\0');
    expect(frames.map(({ command }) => command)).toEqual(['BEGIN', 'SEND', 'COMMIT']);
  });

  it('may come byte by byte', () => {
    const data = bytes('SEND\r\ncontent-length:3\r\ntype:ä\\c\r\n\r\na\0b\0\r\n\nACK\nid:1\n\n\0');
    const { frames, heartBeats } = parse(Array.from(data, (byte) => Uint8Array.of(byte)));
    expect(frames).toMatchObject([
      {
        command: 'SEND',
        headers: [
          ['content-length', '3'],
          ['type', 'ä:'],
        ],
      },
      { command: 'ACK', headers: [['id', '1']] },
    ]);
    expect(text(frames[0]?.body ?? bytes(''))).toBe('a\0b');
    expect(heartBeats).toBe(2);
  });

  it('of every command is taken', () => {
    const commands =
      'CONNECT STOMP CONNECTED SEND SUBSCRIBE UNSUBSCRIBE ACK NACK BEGIN COMMIT ABORT DISCONNECT MESSAGE RECEIPT ERROR';
    const data = commands.split(' ').map((command) => `${command}\n\n\0`);
    expect(parseText(data.join('')).frames.map(({ command }) => command)).toEqual(commands.split(' '));
  });
});

describe('line ends between frames', () => {
  it('are heart-beats', () => {
    expect(parseText('\n')).toMatchObject({ heartBeats: 1 });
    expect(parseText('\r\n')).toMatchObject({ heartBeats: 1 });
    expect(parse([bytes('\r'), bytes('\n')])).toMatchObject({ heartBeats: 1 });
    expect(parse([bytes('\n'), bytes('\n')])).toMatchObject({ heartBeats: 2 });
  });

  it('count once in one read', () => {
    expect(parseText('\n\n\r\n')).toMatchObject({ heartBeats: 1 });
  });

  it('may stand before, between and after frames', () => {
    expect(parseText('\nACK\nid:1\n\n\0\n\r\nACK\nid:2\n\n\0\n')).toMatchObject({ frames: [{}, {}], heartBeats: 3 });
  });
});

describe('the raw view', () => {
  it('shows where the parts of a frame lie', () => {
    read('\nSEND\na:1\nbb:22\n\nbody\0', (raw) => {
      const piece = (from: number, to: number) => text(raw.bytes.subarray(from, to));
      expect(piece(raw.start, raw.end)).toBe('SEND\na:1\nbb:22\n\nbody\0');
      expect(piece(raw.headStart, raw.headEnd)).toBe('a:1\nbb:22\n');
      expect(piece(raw.bodyStart, raw.bodyEnd)).toBe('body');
      expect([raw.nameOf(1), raw.valueOf(1), raw.lineOf(1)]).toEqual(['bb', '22', 'bb:22']);
    });
  });

  it('lies in the chunk when the frame is whole in it, and is a copy when it is split', () => {
    const data = bytes('SEND\na:1\n\nbody\0SEND\na:1\n\nbody\0');
    const seen: Uint8Array[] = [];
    const parser = new FrameParser(LIMITS, { frame: (raw) => void seen.push(raw.bytes) });
    const [first, second] = [data.subarray(0, 20), data.subarray(20)];
    parser.push(first);
    parser.push(second);
    expect(seen[0]).toBe(first);
    expect(seen[1]).not.toBe(second);
  });

  it('finds headers by name, also escaped ones and those beyond ASCII', () => {
    read('SEND\nname:1\na\\cb:x\\ny\nö:ü\n\n\0', (raw) => {
      expect(raw.header('a:b')).toBe('x\ny');
      expect(raw.header('ö')).toBe('ü');
      expect(raw.header('name')).toBe('1');
      expect(raw.header('nam')).toBeUndefined();
      expect(raw.lineOf(1)).toBe('a\\cb:x\\ny');
    });
  });

  it('is no header of the frame before', () => {
    const seen: (string | undefined)[] = [];
    const parser = new FrameParser(LIMITS, { frame: (raw) => void seen.push(raw.header('a'), raw.header('b')) });
    parser.push(bytes('SEND\na:1\n\n\0SEND\nb:2\n\n\0'));
    expect(seen).toEqual(['1', undefined, undefined, '2']);
  });
});

describe('a parser', () => {
  it('that was stopped by a handler looks at nothing more', () => {
    let frames = 0;
    const parser: FrameParser = new FrameParser(LIMITS, {
      frame: () => {
        frames++;
        parser.stop();
      },
    });
    parser.push(bytes('ACK\nid:1\n\n\0ACK\nid:2\n\n\0garbage'));
    parser.push(bytes('more garbage'));
    expect(frames).toBe(1);
  });

  it('passes on what a handler throws, and is stopped', () => {
    let frames = 0;
    const parser = new FrameParser(LIMITS, {
      frame: () => {
        frames++;
        throw new RangeError('of the handler');
      },
    });
    expect(() => parser.push(bytes('ACK\nid:1\n\n\0ACK\nid:2\n\n\0'))).toThrow('of the handler');
    parser.push(bytes('ACK\nid:3\n\n\0'));
    expect(frames).toBe(1);
  });

  it('says which receipt was asked for by the frame that it refused, as far as it was read', () => {
    const refused = (data: string) => {
      const parser = new FrameParser(LIMITS, { frame: () => undefined });
      expect(parser.receipt).toBeNull();
      expect(() => parser.push(bytes(data))).toThrow();
      return parser.receipt;
    };
    expect(refused('SEND\na:1\nreceipt:r-7\ncontent-length:9999\n')).toBe('r-7');
    expect(refused('SEND\nreceipt:r-7\nbad\n')).toBe('r-7');
    expect(refused('SEND\nbad\nreceipt:r-7\n')).toBeNull();
    expect(refused('SEND\nreceipt:r\\c7\nbad\n')).toBeNull();
    expect(refused('nonsense')).toBeNull();
  });

  it('says an error once, and keeps nothing', () => {
    const parser = new FrameParser(LIMITS, { frame: () => undefined });
    expect(() => parser.push(bytes('SEND\na:1\nb'))).not.toThrow();
    expect(parser.buffered).toBe(10);
    expect(() => parser.push(bytes('ad\n'))).toThrow('"bad"');
    expect(parser.buffered).toBe(0);
    parser.push(bytes('\0\0'));
  });
});

function read(data: string, look: (raw: RawFrame) => void): void {
  let frames = 0;
  const parser = new FrameParser(LIMITS, {
    frame: (raw) => {
      frames++;
      look(raw);
    },
  });
  parser.push(bytes(data));
  expect(frames).toBe(1);
}
