import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { type ApiError, apiError } from '../api/errors.js';
import { Dialog } from './dialog.jsx';
import { Failure } from './note.jsx';
import { number } from './numbers.js';

/** From so many on the number is typed, as the command line asks for it. */
const TYPED_ABOVE = 100;

interface Props {
  readonly title: string;
  /** What the button says that does it: `Cancel the job`. */
  readonly action: string;
  /** What the other one says: `Let it run`. */
  readonly leave?: string;
  readonly tone?: 'main-action' | 'danger';
  /** How many it is done to, as a preview has counted them. */
  readonly count?: number;
  /** The button is there and does nothing: something is still to be filled in. */
  readonly off?: boolean;
  readonly children?: ComponentChildren;
  /** What it throws is shown, and the question stays. */
  readonly onConfirm: () => Promise<void>;
  readonly onClose: () => void;
}

/** Asks before something is done, shows what stood in the way, and goes away when it is done. */
export function Confirm(props: Props) {
  const { title, action, leave = 'Cancel', tone = 'danger', count = 1, off = false, children } = props;
  const typed = useSignal('');
  const busy = useSignal(false);
  const error = useSignal<ApiError | null>(null);
  const asksNumber = count > TYPED_ABOVE;
  const ready = !off && !busy.value && (!asksNumber || typed.value.trim() === String(count));
  const confirm = async (): Promise<void> => {
    if (!ready) return;
    busy.value = true;
    try {
      await props.onConfirm();
      props.onClose();
    } catch (thrown) {
      error.value = apiError(thrown);
    } finally {
      busy.value = false;
    }
  };
  return (
    <Dialog title={title} onClose={props.onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void confirm();
        }}
      >
        {children}
        {asksNumber && (
          <div class="field">
            <label for="confirm-count">Type {count} to go on</label>
            <input
              id="confirm-count"
              class="input"
              inputMode="numeric"
              autocomplete="off"
              value={typed.value}
              placeholder={number(count)}
              onInput={(event) => {
                typed.value = event.currentTarget.value;
              }}
            />
          </div>
        )}
        {error.value !== null && <Failure error={error.value} />}
        <div class="actions">
          <button type="button" class="button" onClick={props.onClose}>
            {leave}
          </button>
          <button type="submit" class={`button ${tone}`} aria-disabled={!ready}>
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
