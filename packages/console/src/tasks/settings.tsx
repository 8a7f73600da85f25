import { useSignal } from '@preact/signals';
import type { Queue } from '../live/queues.js';
import { Command } from '../parts/command.jsx';
import { Confirm } from '../parts/confirm.jsx';
import { safeText } from '../parts/safe-text.js';
import { signedIn } from '../session/session.js';
import { changesOf, commandFor, FIELDS, type Given, givenOf } from './settings-fields.js';

interface Props {
  readonly queue: Queue;
  readonly onSaved: () => void;
  readonly onClose: () => void;
}

/** How much of a queue runs at one time, where, and how often again. */
export function QueueSettings({ queue, onSaved, onClose }: Props) {
  const { api } = signedIn();
  const before = givenOf(queue);
  const given = useSignal<Given>(before);
  const { changes, wrong } = changesOf(before, given.value);
  const none = Object.keys(changes).length === 0;
  return (
    <Confirm
      title={`Limits of ${safeText(queue.name)}`}
      action="Save"
      tone="main-action"
      off={none || Object.keys(wrong).length > 0}
      onConfirm={async () => {
        await api.patch(`/queues/${queue.id}`, changes);
        onSaved();
      }}
      onClose={onClose}
    >
      <div class="options">
        {FIELDS.map(({ name, label, hint }) => (
          <div key={name} class="field">
            <label for={`queue-${name}`}>{label}</label>
            <input
              id={`queue-${name}`}
              class="input"
              autocomplete="off"
              spellcheck={false}
              value={given.value[name]}
              placeholder={hint}
              aria-invalid={wrong[name] !== undefined}
              aria-describedby={`queue-${name}-hint`}
              onInput={(event) => {
                given.value = { ...given.value, [name]: event.currentTarget.value };
              }}
            />
            <span class={wrong[name] === undefined ? 'hint' : 'wrong'} id={`queue-${name}-hint`}>
              {wrong[name] ?? hint}
            </span>
          </div>
        ))}
      </div>
      <Command text={commandFor(queue.name, before, given.value)} />
    </Confirm>
  );
}
