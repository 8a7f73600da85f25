/** One table; cells may hold anything. */
export function table(headings, rows) {
  const line = (cells) => `| ${cells.map(cell).join(' | ')} |`;
  return [line(headings), `|${headings.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
}

function cell(value) {
  return String(value ?? '')
    .replaceAll('|', '\\|')
    .replaceAll('\n', ' ');
}

export function code(value) {
  return value === undefined || value === '' ? '' : `\`${value}\``;
}
