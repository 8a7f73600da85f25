import type { ComponentChildren } from 'preact';
import { Note } from './note.jsx';
import { safeText } from './safe-text.js';

/** A list, and beside it the one of its rows that is open; where there is little room, above it. */
export function Panes({ open, children }: { readonly open: boolean; readonly children: ComponentChildren }) {
  return <div class={`panes ${open ? 'open' : ''}`}>{children}</div>;
}

/** What is known of the row that is open. */
export function Pane({
  title,
  label,
  onClose,
  children,
}: {
  readonly title: ComponentChildren;
  readonly label: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  return (
    <section class="card side" aria-label={label}>
      <header>
        <h2 class="break">{title}</h2>
        <button type="button" class="button plain small" onClick={onClose}>
          Close
        </button>
      </header>
      {children}
    </section>
  );
}

/** In the place of a pane: what the URL names is not in the list beside it. */
export function NotAmong({ what, onClose }: { readonly what: string; readonly onClose: () => void }) {
  return (
    <Note>
      <span>{safeText(what)} is not among these: it is older, it does not match, or there is none.</span>
      <span>
        <button type="button" class="button small" onClick={onClose}>
          Close
        </button>
      </span>
    </Note>
  );
}
