import { useSignal } from '@preact/signals';
import type { Queue } from '../live/queues.js';
import { useAttempt } from '../parts/attempt.js';
import { Command } from '../parts/command.jsx';
import { Failure } from '../parts/note.jsx';
import { mayI, signedIn } from '../session/session.js';
import { changesOf, commandFor, givenOf } from './settings-fields.js';

/** Most tasks of a queue at one time, changed where it stands. */
export function Limit({ queue, onSaved }: { readonly queue: Queue; readonly onSaved: () => void }) {
  const { api } = signedIn();
  const allowed = mayI('task:write');
  const before = givenOf(queue);
  /** Null: as it is. */
  const typed = useSignal<string | null>(null);
  const { busy, error, attempt } = useAttempt();
  const given = { ...before, threads: typed.value ?? before.threads };
  const { changes, wrong } = changesOf(before, given);
  const changed = given.threads.trim() !== before.threads;
  const off = busy.value || !changed || wrong.threads !== undefined;
  const save = (): Promise<void> =>
    attempt(async () => {
      await api.patch(`/queues/${encodeURIComponent(queue.id)}`, changes);
      typed.value = null;
      onSaved();
    });
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (!off) void save();
      }}
    >
      <div class="line wraps">
        <label for="queue-limit">Limit</label>
        <input
          id="queue-limit"
          class="input few"
          inputMode="numeric"
          autocomplete="off"
          readOnly={!allowed.may}
          title={allowed.may ? undefined : allowed.why}
          value={given.threads}
          placeholder="none"
          aria-invalid={wrong.threads !== undefined}
          aria-describedby={wrong.threads === undefined ? undefined : 'queue-limit-wrong'}
          onInput={(event) => {
            typed.value = event.currentTarget.value;
          }}
          onKeyDown={(event) => {
            if (event.key === 'Escape') typed.value = null;
          }}
        />
        {changed && (
          <button type="submit" class="button small" aria-disabled={off}>
            Set the limit
          </button>
        )}
        {wrong.threads !== undefined && (
          <span class="wrong" id="queue-limit-wrong">
            {wrong.threads}
          </span>
        )}
      </div>
      {changed && wrong.threads === undefined && <Command text={commandFor(queue.name, before, given)} />}
      {error.value !== null && <Failure error={error.value} />}
    </form>
  );
}
