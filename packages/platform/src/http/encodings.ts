/** Whether a header `Accept-Encoding` takes an encoding (RFC 9110 §12.5.3): each name with its weight, 0 for not at all. */
export function encodingsTaken(accepted: string | string[] | undefined): (encoding: string) => boolean {
  const weights = new Map<string, number>();
  for (const part of String(accepted ?? '')
    .toLowerCase()
    .split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim());
    const [, weight = '1'] = /^q=([\d.]+)$/.exec(parameters.at(-1) ?? '') ?? [];
    weights.set(name, Number(weight));
  }
  return (encoding) => (weights.get(encoding) ?? weights.get('*') ?? 0) > 0;
}
