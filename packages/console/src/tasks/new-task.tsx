import { useSignal } from '@preact/signals';
import type { Queue } from '../live/queues.js';
import { go } from '../navigation.js';
import { Command } from '../parts/command.jsx';
import { Confirm } from '../parts/confirm.jsx';
import { LinesField } from '../parts/lines-field.jsx';
import { safeText } from '../parts/safe-text.js';
import { hrefOf } from '../route.js';
import { signedIn } from '../session/session.js';
import { addCommand, paramsOfLines } from './new-task-lines.js';

/** Adds one task to a queue, and goes to it. */
export function NewTask({ queue, onClose }: { readonly queue: Queue; readonly onClose: () => void }) {
  const { api } = signedIn();
  const given = useSignal('');
  const read = paramsOfLines(given.value);
  const wrong = 'wrong' in read ? read.wrong : undefined;
  return (
    <Confirm
      title={`Add a task to ${safeText(queue.name)}`}
      action="Add the task"
      tone="main-action"
      off={wrong !== undefined}
      onConfirm={async () => {
        const { id } = await api.post<{ readonly id: string }>(`/queues/${encodeURIComponent(queue.id)}/tasks`, read);
        go(hrefOf(api.org, { name: 'task', id }));
      }}
      onClose={onClose}
    >
      <LinesField
        id="new-task-params"
        label="Parameters"
        hint={'One a line. A value that is JSON is that (200, true, "200"), everything else is text.'}
        rows={5}
        value={given.value}
        placeholder={'file=a.png\nwidth=200'}
        wrong={wrong}
        onValue={(text) => {
          given.value = text;
        }}
      />
      <Command text={addCommand(queue.name, given.value)} />
    </Confirm>
  );
}
