import { safeText } from '../parts/safe-text.js';

/** A part of a line in one look: names of classes. */
export interface Span {
  readonly text: string;
  readonly look: string;
}

/** CSI, OSC and the short sequences of terminals. Those that set colours are read, the others left out. */
const SEQUENCE = new RegExp(
  [
    '\\u001b(?:',
    '\\[([0-9;:]*)([@-~])|\\[[0-?]*[ -/]*[@-~]|',
    '\\][^\\u0007\\u001b]*(?:\\u0007|\\u001b\\\\)?|',
    '[PX^_][^\\u001b]*(?:\\u001b\\\\)?|',
    '[ -/]*[0-~])',
  ].join(''),
  'g',
);

export const ESCAPE = '\u001b';

const COLOURS = new RegExp(`${ESCAPE}\\[[0-9;:]*m`, 'g');

/** Without what sets colours; nothing of it goes over the end of a line. */
export function withoutColours(text: string): string {
  return text.includes(ESCAPE) ? text.replace(COLOURS, '') : text;
}

interface Look {
  bold: boolean;
  dim: boolean;
  italic: boolean;
  under: boolean;
  colour: number | null;
}

/** Colours of a line, each line by itself; links and everything else that a terminal would do are text or nothing. */
export function spansOf(line: string): readonly Span[] {
  const spans: Span[] = [];
  const look: Look = { bold: false, dim: false, italic: false, under: false, colour: null };
  let from = 0;
  const put = (text: string): void => {
    if (text !== '') spans.push({ text: safeText(text), look: classesOf(look) });
  };
  for (const found of line.matchAll(SEQUENCE)) {
    put(line.slice(from, found.index));
    from = found.index + found[0].length;
    if (found[2] === 'm') apply(look, found[1] ?? '');
  }
  put(line.slice(from));
  return spans;
}

/** The text alone. */
export function plainText(line: string): string {
  return line.replace(SEQUENCE, '');
}

function apply(look: Look, parameters: string): void {
  const codes = parameters.split(/[;:]/).map((code) => (code === '' ? 0 : Number(code)));
  for (let index = 0; index < codes.length; index += 1) {
    const code = codes[index] ?? 0;
    if (code === 0) Object.assign(look, { bold: false, dim: false, italic: false, under: false, colour: null });
    else if (code === 1) look.bold = true;
    else if (code === 2) look.dim = true;
    else if (code === 3) look.italic = true;
    else if (code === 4) look.under = true;
    else if (code === 22) Object.assign(look, { bold: false, dim: false });
    else if (code === 23) look.italic = false;
    else if (code === 24) look.under = false;
    else if (code >= 30 && code <= 37) look.colour = code - 30;
    else if (code >= 90 && code <= 97) look.colour = code - 90;
    else if (code === 39) look.colour = null;
    else if (code === 38 || code === 48) {
      // 256 colours and true ones: only the first sixteen have a place in our palette.
      if (codes[index + 1] === 5) {
        const colour = codes[index + 2] ?? 0;
        if (code === 38) look.colour = colour < 16 ? colour % 8 : null;
        index += 2;
      } else if (codes[index + 1] === 2) index += 4;
    }
  }
}

function classesOf({ bold, dim, italic, under, colour }: Look): string {
  const classes = [
    bold && 'sgr-bold',
    dim && 'sgr-dim',
    italic && 'sgr-italic',
    under && 'sgr-under',
    colour !== null && `sgr-${colour}`,
  ];
  return classes.filter((name) => name !== false).join(' ');
}
