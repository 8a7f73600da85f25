import { csvOf, linesOf } from './rows-text.js';

const FORMATS = [
  ['Save as JSON lines', 'jsonl', 'application/x-ndjson', linesOf],
  ['as CSV', 'csv', 'text/csv', csvOf],
] as const;

/** What is shown, as a file. @param rows What is saved, made when it is. */
export function Save({
  name,
  rows,
  none,
}: {
  readonly name: string;
  readonly rows: () => readonly object[];
  readonly none: boolean;
}) {
  return (
    <>
      {FORMATS.map(([label, suffix, type, textOf]) => (
        <button
          key={suffix}
          type="button"
          class="button small"
          aria-disabled={none}
          onClick={() => {
            if (!none) download(`${name}.${suffix}`, type, textOf(rows()));
          }}
        >
          {label}
        </button>
      ))}
    </>
  );
}

/** Until the browser has taken it. */
const TAKEN_MS = 10_000;

function download(name: string, type: string, text: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), TAKEN_MS);
}
