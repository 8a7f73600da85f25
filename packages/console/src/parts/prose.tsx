import { safeText } from './safe-text.js';

/** A sentence of the server; what stands between backticks is a command or a name. */
export function Prose({ text }: { readonly text: string }) {
  return (
    <>
      {text
        .split('`')
        .map((part, index) => (index % 2 === 0 ? safeText(part) : <code key={index}>{safeText(part)}</code>))}
    </>
  );
}
