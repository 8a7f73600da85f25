/** Details of a log line, in words: `name=value`, an error with its stack. */
export function brief(details: object): string {
  const words: string[] = [];
  for (const [name, value] of Object.entries(details)) {
    if (name === 'org' || value === null) continue;
    if (value instanceof Error) words.push(value.stack ?? value.message);
    else words.push(`${name}=${String(value)}`);
  }
  return words.join(' ');
}
