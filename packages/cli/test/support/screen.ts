import xterm from '@xterm/headless';

/** What a person sees, line by line, of a terminal with 80 columns to which this was written. */
export async function screenOf(written: string): Promise<string[]> {
  // As a terminal's driver does, which a program writes `\n` to.
  const terminal = new xterm.Terminal({ cols: 80, rows: 24, convertEol: true, allowProposedApi: true });
  await new Promise<void>((resolve) => terminal.write(written, resolve));
  const { active } = terminal.buffer;
  const lines = Array.from({ length: active.length }, (_, row) => active.getLine(row)?.translateToString(true) ?? '');
  terminal.dispose();
  while (lines.at(-1) === '') lines.pop();
  return lines;
}
