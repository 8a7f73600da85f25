/** What a parser of YAML or JSON says is wrong, in one line. YAML's messages go on with an excerpt of the file, which is left out. */
export function parseFailure(error: unknown): string {
  const [said = ''] = (error instanceof Error ? error.message : String(error)).split(':\n\n');
  return said.replaceAll(/\s*\n\s*/g, ' ');
}
