import type { ComponentChildren } from 'preact';
import { type ApiError, passes } from '../api/errors.js';
import { Glyph } from './glyph.js';
import { Prose } from './prose.jsx';

export function Note({
  tone = 'warn',
  children,
}: {
  readonly tone?: 'ok' | 'warn' | 'bad';
  readonly children: ComponentChildren;
}) {
  return (
    <div class={`note ${tone}`} role={tone === 'bad' ? 'alert' : 'status'}>
      <Glyph name={tone === 'ok' ? 'check' : 'bang'} />
      <div>{children}</div>
    </div>
  );
}

/** What went wrong, and what to do about it. @param again Reads it anew, which is done by itself, too, where it may help. */
export function Failure({
  error,
  again,
  children,
}: {
  readonly error: ApiError;
  readonly again?: (() => void) | undefined;
  /** What else is known of it. */
  readonly children?: ComponentChildren;
}) {
  return (
    <Note tone="bad">
      <strong>{sentence(error.message)}</strong>
      {error.fix !== '' && (
        <span>
          <Prose text={sentence(error.fix)} />
        </span>
      )}
      {children}
      {again !== undefined && passes(error) && <span>It is tried again every few seconds.</span>}
      {again !== undefined && (
        <span>
          <button type="button" class="button small" onClick={again}>
            Try again
          </button>
        </span>
      )}
    </Note>
  );
}

export function sentence(text: string): string {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?:]$/.test(begun) || begun === '' ? begun : `${begun}.`;
}

export function Waiting({ what }: { readonly what: string }) {
  return (
    <div class="waiting" role="status">
      Loading {what} …
    </div>
  );
}
