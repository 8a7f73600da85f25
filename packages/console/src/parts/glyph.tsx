const PATHS = {
  check: 'M3 8.5 6.5 12 13 4.5',
  cross: 'M4 4l8 8M12 4l-8 8',
  play: 'M5 3.2v9.6L13 8z',
  loop: 'M13 8a5 5 0 1 1-1.6-3.7M13 2v3h-3',
  dash: 'M3 8h10',
  dots: 'M3 8h.01M8 8h.01M13 8h.01',
  bang: 'M8 2.5v7M8 13v.01',
  stop: 'M4 4h8v8H4z',
  ban: 'M3.7 3.7l8.6 8.6M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2z',
  clock: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 5v3.5l2.2 1.3',
  circle: 'M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3z',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.5 10.5 14 14',
  down: 'M4 6l4 4 4-4',
  menu: 'M2.5 4h11M2.5 8h11M2.5 12h11',
} as const;

export type GlyphName = keyof typeof PATHS;

const FILLED: ReadonlySet<GlyphName> = new Set(['play', 'stop'] as const);

/** A sign beside a word, which says the same. */
export function Glyph({ name, tone = '' }: { readonly name: GlyphName; readonly tone?: string }) {
  return (
    <svg class={`glyph ${tone}`} viewBox="0 0 16 16" aria-hidden="true">
      <path
        d={PATHS[name]}
        fill={FILLED.has(name) ? 'currentColor' : 'none'}
        stroke="currentColor"
        stroke-width={name === 'dots' ? 3 : 2}
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}
