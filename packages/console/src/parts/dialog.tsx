import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/** Of a dialog in which nothing is done. */
export function CloseDialog() {
  return (
    <form method="dialog" class="actions">
      {/* biome-ignore lint/a11y/noAutofocus: whoever opens a dialog is in it, and a key pressed by mistake changes nothing */}
      <button type="submit" class="button" autoFocus>
        Close
      </button>
    </form>
  );
}

/** A question that must be answered; `Esc` says no. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    ref.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog ref={ref} aria-labelledby="dialog-title" onClose={onClose}>
      <div class="asks">
        <h2 id="dialog-title">{title}</h2>
        {children}
      </div>
    </dialog>
  );
}
