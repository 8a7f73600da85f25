import xterm from '@xterm/headless';

/** A terminal that keeps what would be seen. */
export class Screen {
  #terminal;

  constructor(cols, rows) {
    this.#terminal = new xterm.Terminal({ cols, rows, allowProposedApi: true });
  }

  write(bytes) {
    return new Promise((resolve) => this.#terminal.write(bytes, resolve));
  }

  /** Each line as parts of one look: `{ text, colour, bold, dim }`, `colour` being one of sixteen or null. */
  lines() {
    const { buffer, rows, cols } = this.#terminal;
    return Array.from({ length: rows }, (_, row) => {
      const line = buffer.active.getLine(buffer.active.viewportY + row);
      const parts = [];
      for (let column = 0; column < cols; column++) {
        const cell = line.getCell(column);
        const look = {
          colour: cell.isFgPalette() ? cell.getFgColor() : null,
          bold: cell.isBold() !== 0,
          dim: cell.isDim() !== 0,
        };
        const last = parts.at(-1);
        const same = last !== undefined && Object.keys(look).every((key) => last[key] === look[key]);
        if (same) last.text += cell.getChars() || ' ';
        else parts.push({ text: cell.getChars() || ' ', ...look });
      }
      while (parts.at(-1)?.text.trim() === '') parts.pop();
      const end = parts.at(-1);
      if (end !== undefined) end.text = end.text.trimEnd();
      return parts;
    });
  }
}
