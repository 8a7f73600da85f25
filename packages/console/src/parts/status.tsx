import type { Look } from '../statuses/look.js';
import { Glyph } from './glyph.js';

export function Status({ look, badge = false }: { readonly look: Look; readonly badge?: boolean }) {
  return (
    <span class={`status ${look.tone} ${badge ? 'badge' : ''}`} title={look.means}>
      <Glyph name={look.glyph} />
      {look.word}
    </span>
  );
}
