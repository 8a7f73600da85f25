/** Frames one above the other, of which one is seen at a time: an SVG that needs no script. */
const CELL = { width: 8.4, height: 19 };
const EDGE = 14;
const BAR = 26;
/** What changes faster is one frame. */
const MERGE_MS = 60;
const GROUND = '#10161f';
const TEXT = '#d7dee8';
const COLOURS = [
  '#5c6773',
  '#ff7b72',
  '#7ee787',
  '#e3b341',
  '#79c0ff',
  '#d2a8ff',
  '#56d4dd',
  '#d7dee8',
  '#8b949e',
  '#ffa198',
  '#a5f0b0',
  '#f2cc60',
  '#a5d6ff',
  '#e2c5ff',
  '#86e1e8',
  '#ffffff',
];

export function film(frames, { columns, rows, endMs }) {
  const shown = frames.filter(({ at }, index) => (frames[index + 1]?.at ?? endMs) - at >= MERGE_MS);
  const width = Math.ceil(columns * CELL.width) + 2 * EDGE;
  const height = rows * CELL.height + BAR + EDGE;
  const known = new Map();
  const strip = shown.map(({ lines }, frame) => {
    const uses = lines.map((parts, row) => {
      if (parts.length === 0) return '';
      const drawn = parts.map(tspan).join('');
      if (!known.has(drawn)) known.set(drawn, `l${known.size}`);
      return `<use href="#${known.get(drawn)}" y="${frame * height + BAR + (row + 1) * CELL.height}"/>`;
    });
    return uses.join('');
  });
  const defs = [...known].map(([drawn, id]) => `<text id="${id}" x="${EDGE}" xml:space="preserve">${drawn}</text>`);
  const moments = shown.map(({ at }, frame) => {
    const percent = frame === 0 ? 0 : (at / endMs) * 100;
    return `${percent.toFixed(3)}%{transform:translateY(${-frame * height}px)}`;
  });
  const last = -(shown.length - 1) * height;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="A terminal in which muster is used">
<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:${TEXT}}.b{font-weight:700}.d{opacity:.65}
#film{animation:film ${Math.round(endMs)}ms steps(1,end) infinite}@keyframes film{${moments.join('')}100%{transform:translateY(${last}px)}}
@media (prefers-reduced-motion:reduce){#film{animation:none;transform:translateY(${last}px)}}</style>
<rect width="100%" height="100%" rx="8" fill="${GROUND}"/><circle cx="18" cy="14" r="5" fill="#ff7b72"/><circle cx="36" cy="14" r="5" fill="#e3b341"/><circle cx="54" cy="14" r="5" fill="#7ee787"/>
<defs>${defs.join('')}</defs>
<g id="film">${strip.join('')}</g>
</svg>
`;
}

function tspan({ text, colour, bold, dim }) {
  const classes = [bold ? 'b' : '', dim ? 'd' : ''].filter(Boolean).join(' ');
  const fill = colour === null ? '' : ` fill="${COLOURS[colour % COLOURS.length]}"`;
  const look = `${classes === '' ? '' : ` class="${classes}"`}${fill}`;
  const safe = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return look === '' ? safe : `<tspan${look}>${safe}</tspan>`;
}
