const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT] = [640, 400, 60, 50, 30, 20];
const [NODES, MS] = [
  [100, 1000, 10_000],
  [1, 10, 100, 1000, 10_000],
];

const log = (value, [from, to], [low, high]) =>
  low + ((Math.log10(value) - Math.log10(from)) / (Math.log10(to) - Math.log10(from))) * (high - low);
const x = (nodes) => log(nodes, [80, 12_000], [LEFT, WIDTH - RIGHT]);
const y = (ms) => log(ms, [1, 10_000], [HEIGHT - BOTTOM, TOP]);

/** Milliseconds over nodes, both logarithmic, beside the floor and a straight line through the first point. */
export function plot(points) {
  const first = points[0];
  const linear = points.map(({ nodes }) => ({ nodes, ms: (first.ms / first.nodes) * nodes }));
  const floor = points.map(({ nodes, floor }) => ({ nodes, ms: floor }));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">
<title>Milliseconds from POST to complete, over the number of nodes</title>
<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>
${NODES.map((n) => `<line x1="${x(n)}" x2="${x(n)}" y1="${TOP}" y2="${HEIGHT - BOTTOM}" stroke="#ddd"/><text x="${x(n)}" y="${HEIGHT - BOTTOM + 18}" text-anchor="middle">${n.toLocaleString('en')}</text>`).join('\n')}
${MS.map((ms) => `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(ms)}" y2="${y(ms)}" stroke="#ddd"/><text x="${LEFT - 6}" y="${y(ms) + 4}" text-anchor="end">${ms.toLocaleString('en')}</text>`).join('\n')}
<text x="${(LEFT + WIDTH) / 2}" y="${HEIGHT - 10}" text-anchor="middle">nodes</text>
<text x="12" y="${TOP - 12}">ms from POST to complete</text>
${curve(linear, '#999', '4 4')}
${curve(floor, '#3a7', '')}
${curve(points, '#25c', '')}
${legend(['push-noop', '#25c'], ['floor: one signed request and reply', '#3a7'], ['linear, from the first point', '#999'])}
</svg>
`;
}

function curve(points, color, dashes) {
  const path = points.map(({ nodes, ms }) => `${x(nodes).toFixed(1)},${y(ms).toFixed(1)}`).join(' ');
  const dots = points.map(
    ({ nodes, ms }) => `<circle cx="${x(nodes).toFixed(1)}" cy="${y(ms).toFixed(1)}" r="3" fill="${color}"/>`,
  );
  const line = `<polyline points="${path}" fill="none" stroke="${color}" stroke-width="2" stroke-dasharray="${dashes}"/>`;
  return dashes === '' ? line + dots.join('') : line;
}

function legend(...entries) {
  return entries
    .map(([text, color], n) => {
      const at = TOP + 14 + n * 18;
      return `<rect x="${LEFT + 12}" y="${at - 9}" width="14" height="4" fill="${color}"/><text x="${LEFT + 32}" y="${at - 3}">${text}</text>`;
    })
    .join('\n');
}
