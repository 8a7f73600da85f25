import type { GlyphName } from '../parts/glyph.js';

/** How a status looks: a glyph, a word and a colour, of which the word alone is enough. */
export interface Look {
  readonly glyph: GlyphName;
  readonly word: string;
  readonly tone: 'ok' | 'run' | 'warn' | 'bad' | 'idle';
  /** What the word means, where it is none of every day. */
  readonly means?: string;
}
