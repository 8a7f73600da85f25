import { useSignal } from '@preact/signals';

/** The command line that shows, or does, the same as the screen. */
export function Command({ text, label = 'Copy the command' }: { readonly text: string; readonly label?: string }) {
  const copied = useSignal(false);
  const copy = (): void => {
    navigator.clipboard?.writeText(text).then(
      () => {
        copied.value = true;
        setTimeout(() => {
          copied.value = false;
        }, 1500);
      },
      () => {},
    );
  };
  return (
    <div class="command">
      <code>{text}</code>
      <button type="button" class="button plain small" onClick={copy} aria-label={label}>
        {copied.value ? 'Copied' : 'Copy'}
      </button>
    </div>
  );
}
