import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { type ApiError, apiError } from '../../api/errors.js';
import type { JobMessage, JobMessages } from '../../api/types.gen.js';
import { useReading } from '../../live/reading.js';
import { setParameters } from '../../navigation.js';
import { Action } from '../../parts/action.jsx';
import { Command } from '../../parts/command.jsx';
import { Confirm } from '../../parts/confirm.jsx';
import { Listed } from '../../parts/listed.jsx';
import { Failure, Waiting } from '../../parts/note.jsx';
import { bytes } from '../../parts/numbers.js';
import { Pane } from '../../parts/pane.jsx';
import { safeText } from '../../parts/safe-text.js';
import { musterCommand } from '../../parts/shell.js';
import { Ago } from '../../parts/time.jsx';
import { signedIn } from '../../session/session.js';
import type { Column } from '../../table/table.jsx';

/** Most rows that are shown. */
const MOST = 200;

/** Messages that nobody took. */
export function MessagesPart() {
  const { api } = signedIn();
  const kept = useReading({
    key: '',
    read: (signal) => api.get<JobMessages>('/job-messages', { limit: MOST }, signal),
    selector: "type LIKE 'job_message.%'",
  });
  return (
    <Listed
      of={kept}
      what={['messages', 'message']}
      most={MOST}
      label="Messages that nobody took"
      columns={MESSAGE_COLUMNS}
      keyOf={({ id }) => id}
      empty={() => (
        <>
          <h2>No message is left over</h2>
          <p>
            A message of a job that could not be routed, or was rejected, is kept here until somebody publishes it again
            or drops it. No job is lost meanwhile.
          </p>
        </>
      )}
      pane={{ parameter: 'id', of: ({ id }) => <Message key={id} id={id} again={kept.again} /> }}
    />
  );
}

const MESSAGE_COLUMNS: readonly Column<JobMessages[number]>[] = [
  { id: 'reason', head: 'Why', track: 'minmax(0, 1fr)', cell: ({ reason, kind }) => safeText(reason ?? kind) },
  { id: 'key', head: 'To', track: 'minmax(0, 1.6fr)', wide: true, cell: (each) => safeText(each.routing_key) },
  { id: 'length', head: 'Size', track: '72px', end: true, wide: true, cell: ({ length }) => bytes(length) },
  { id: 'at', head: 'For', track: '72px', end: true, cell: ({ at }) => <Ago at={Date.parse(at)} /> },
];

function Message({ id, again }: { readonly id: string; readonly again: () => void }) {
  const { api } = signedIn();
  const message = useSignal<JobMessage | null>(null);
  const error = useSignal<ApiError | null>(null);
  const asking = useSignal<'resubmit' | 'drop' | null>(null);
  const path = `/job-messages/${encodeURIComponent(id)}`;
  useEffect(() => {
    api.get<JobMessage>(path).then(
      ({ body }) => {
        message.value = body;
      },
      (thrown: unknown) => {
        error.value = apiError(thrown);
      },
    );
  }, [id]);
  const close = (): void => setParameters({ id: null });
  const act = async (): Promise<void> => {
    if (asking.value === 'resubmit') await api.post(`${path}/resubmit`, {});
    else await api.delete(path);
    close();
    again();
  };
  return (
    <Pane label="The message" title="Message" onClose={close}>
      {error.value !== null && <Failure error={error.value} />}
      {message.value === null && error.value === null && <Waiting what="the message" />}
      {message.value !== null && (
        <div class="inside stack">
          <dl class="facts">
            <dt>exchange</dt>
            <dd>{safeText(message.value.exchange)}</dd>
            <dt>routing key</dt>
            <dd>{safeText(message.value.routing_key)}</dd>
            <dt>reason</dt>
            <dd>{safeText(message.value.reason ?? message.value.kind)}</dd>
          </dl>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls */}
          <section class="shown" aria-label="Body" tabIndex={0}>
            <pre>{safeText(message.value.body)}</pre>
          </section>
          <div class="actions">
            <Action label="Publish again …" onClick={() => (asking.value = 'resubmit')} />
            <Action label="Drop …" tone="danger" onClick={() => (asking.value = 'drop')} />
          </div>
        </div>
      )}
      {asking.value !== null && (
        <Confirm
          title={asking.value === 'drop' ? 'Drop this message?' : 'Publish this message again?'}
          action={asking.value === 'drop' ? 'Drop it' : 'Publish it'}
          tone={asking.value === 'drop' ? 'danger' : 'main-action'}
          onConfirm={act}
          onClose={() => (asking.value = null)}
        >
          <p>
            {asking.value === 'drop'
              ? 'It is gone for good. The job that it is about stays as it is.'
              : 'It goes where it was published first. If nobody takes it this time either, it comes back.'}
          </p>
          <Command text={musterCommand('dead-letter', asking.value, id)} />
        </Confirm>
      )}
    </Pane>
  );
}
