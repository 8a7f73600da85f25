/** How well a media range of an Accept header fits; null when it does not (RFC 9110 §12.5.1). */
function precision(range: string, type: string): number | null {
  if (range === type) return 2;
  const slash = type.indexOf('/');
  if (range === `${type.slice(0, slash)}/*`) return 1;
  return range === '*/*' || range === '*' ? 0 : null;
}

/**
 * Does this Accept header allow `type`? The most precise range decides, and `q=0` excludes. No header, or an empty
 * one, allows everything.
 */
export function accepts(header: string | undefined, type: string): boolean {
  if (header === undefined || header.trim() === '') return true;
  let best = -1;
  let quality = 0;
  for (const part of header.split(',')) {
    const [range = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
    const fit = precision(range, type);
    if (fit === null || fit < best) continue;
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    const q = weight === undefined ? 1 : Number(weight.slice(2));
    const value = Number.isFinite(q) ? q : 1;
    quality = fit > best ? value : Math.max(quality, value);
    best = fit;
  }
  return quality > 0;
}
