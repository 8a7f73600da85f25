import { type Frame, FrameParser, type ParserLimits, type StompVersion } from '@muster/fabric';

export const LIMITS: ParserLimits = { headBytes: 1024, bodyBytes: 256, headers: 16, headerNameBytes: 32 };
/** No byte more than that may be held. */
export const MOST_HELD = LIMITS.headBytes + LIMITS.bodyBytes + 1;

export interface Parsed {
  readonly frames: Frame[];
  readonly heartBeats: number;
  readonly mostHeld: number;
}

export const bytes = (text: string): Uint8Array => Buffer.from(text, 'utf8');
export const text = (data: Uint8Array): string => Buffer.from(data).toString('utf8');

/** What a parser makes of these chunks. Each chunk is overwritten after it was pushed, as one that is only lent. */
export function parse(
  chunks: readonly Uint8Array[],
  { version = '1.2', limits = LIMITS }: { version?: StompVersion; limits?: ParserLimits } = {},
): Parsed {
  const parsed = { frames: [] as Frame[], heartBeats: 0, mostHeld: 0 };
  const parser = new FrameParser(limits, {
    frame: (raw) => void parsed.frames.push(raw.frame()),
    heartBeat: () => void parsed.heartBeats++,
  });
  parser.version = version;
  for (const chunk of chunks) {
    const lent = Uint8Array.from(chunk);
    parser.push(lent);
    lent.fill(0x58);
    parsed.mostHeld = Math.max(parsed.mostHeld, parser.buffered);
  }
  return parsed;
}

export const parseText = (data: string, options?: Parameters<typeof parse>[1]): Parsed => parse([bytes(data)], options);

/** Cuts at these places. */
export function split(data: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [0, ...cuts.map((cut) => cut % (data.length + 1)).sort((a, b) => a - b), data.length];
  return places.slice(1).map((end, index) => data.subarray(places[index], end));
}
