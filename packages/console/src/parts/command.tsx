import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { safeText } from './safe-text.js';

type Copied = 'no' | 'yes' | 'selected';

const WORDS: Readonly<Record<Copied, string>> = { no: 'Copy', yes: 'Copied', selected: 'Selected' };
const SHOWN_MS = 1500;

/** The command line that shows, or does, the same as the screen. */
export function Command({ text, label = 'Copy the command' }: { readonly text: string; readonly label?: string }) {
  const copied = useSignal<Copied>('no');
  const code = useRef<HTMLElement>(null);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      copied.value = 'yes';
    } catch {
      // As on a page that did not come over TLS: it is copied by hand, as it is shown.
      if (code.current !== null) getSelection()?.selectAllChildren(code.current);
      copied.value = 'selected';
    }
    setTimeout(() => {
      copied.value = 'no';
    }, SHOWN_MS);
  };
  return (
    <div class="command">
      <code ref={code}>{safeText(text)}</code>
      <button type="button" class="button plain small" onClick={() => void copy()} aria-label={label}>
        {WORDS[copied.value]}
      </button>
    </div>
  );
}
