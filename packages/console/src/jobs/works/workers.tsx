import { useSignal } from '@preact/signals';
import type { JobWorkers } from '../../api/types.gen.js';
import { useReading } from '../../live/reading.js';
import { place } from '../../navigation.js';
import { Action } from '../../parts/action.jsx';
import { Also } from '../../parts/also.jsx';
import { Command } from '../../parts/command.jsx';
import { Confirm } from '../../parts/confirm.jsx';
import { Shown } from '../../parts/loaded.jsx';
import { number, plural } from '../../parts/numbers.js';
import { safeText } from '../../parts/safe-text.js';
import { musterCommand } from '../../parts/shell.js';
import { Status } from '../../parts/status.jsx';
import { Ago } from '../../parts/time.jsx';
import { signedIn } from '../../session/session.js';
import type { Look } from '../../statuses/look.js';
import { shortQueue } from '../parts.jsx';

/** A worker has jobs as their statuses change. */
const TOLD = "type LIKE 'job.%' OR type LIKE 'job_worker.%'";

const WORKER_LOOKS: Readonly<Record<JobWorkers[number]['state'], Look>> = {
  running: { glyph: 'play', word: 'running', tone: 'ok' },
  quiescing: { glyph: 'clock', word: 'ends', tone: 'warn' },
  suspended: { glyph: 'stop', word: 'suspended', tone: 'warn' },
  stopped: { glyph: 'dash', word: 'stopped', tone: 'idle' },
  lost: { glyph: 'cross', word: 'lost', tone: 'bad' },
};

const WORKER_ACTS = {
  suspend: {
    word: 'Suspend …',
    title: 'Suspend this worker?',
    action: 'Suspend it',
    text: 'It takes nothing more until it is resumed. What it has, it works on.',
  },
  resume: { word: 'Resume …', title: 'Resume this worker?', action: 'Resume it', text: 'It takes jobs again.' },
  quiesce: {
    word: 'End when done …',
    title: 'Have this worker end?',
    action: 'Have it end',
    text: 'It takes nothing more, and ends when what it has is over.',
  },
  shutdown: {
    word: 'Shut down …',
    title: 'Shut this worker down?',
    action: 'Shut it down',
    text: 'It gives back what it has, which another worker goes on with, and ends.',
  },
} as const;
type WorkerAct = keyof typeof WORKER_ACTS;

/** Who works on jobs, and on how many. */
export function WorkersPart() {
  const { api } = signedIn();
  const all = place.value.query.get('all') === 'true';
  const kept = useReading({
    key: String(all),
    read: (signal) => api.get<JobWorkers>('/job-workers', { all: all || undefined }, signal),
    selector: TOLD,
  });
  const asking = useSignal<{ readonly act: WorkerAct; readonly id: string; readonly name: string } | null>(null);
  const asked = asking.value;
  const actsOf = (state: JobWorkers[number]['state']): readonly WorkerAct[] =>
    state === 'running'
      ? ['suspend', 'quiesce', 'shutdown']
      : state === 'suspended'
        ? ['resume', 'quiesce', 'shutdown']
        : state === 'quiescing'
          ? ['shutdown']
          : [];
  return (
    <>
      <Also those="that have ended" all={all} />
      <Shown of={kept} what="workers">
        {(workers) =>
          workers.length === 0 ? (
            <section class="card">
              <div class="empty">
                <h2>No worker</h2>
                <p>
                  Nothing works on jobs: they wait, and none is lost. The server has workers in its own process unless
                  its settings say 0; others are started beside it.
                </p>
                <Command text="muster worker run --config worker.yaml" />
              </div>
            </section>
          ) : (
            <section class="card">
              <ul class="lines">
                {workers.map(({ id, name, host, queue, slots, state, jobs, started }) => (
                  <li key={id}>
                    <div class="line wraps">
                      <span class="grow break">
                        <strong>{safeText(name)}</strong>{' '}
                        <span class="quiet">
                          on {safeText(host)}, from {safeText(shortQueue(queue))}, for <Ago at={Date.parse(started)} />
                        </span>
                      </span>
                      <span class="number">
                        {number(jobs)} of {plural(slots, 'slot')}
                      </span>
                      <Status look={WORKER_LOOKS[state]} />
                      <span class="actions">
                        {actsOf(state).map((act) => (
                          <Action
                            key={act}
                            small
                            label={WORKER_ACTS[act].word}
                            onClick={() => (asking.value = { act, id, name })}
                          />
                        ))}
                      </span>
                    </div>
                  </li>
                ))}
              </ul>
            </section>
          )
        }
      </Shown>
      {asked !== null && (
        <Confirm
          title={WORKER_ACTS[asked.act].title}
          action={WORKER_ACTS[asked.act].action}
          tone={asked.act === 'resume' ? 'main-action' : 'danger'}
          onConfirm={async () => {
            await api.post(`/job-workers/${encodeURIComponent(asked.id)}/${asked.act}`, {});
            kept.again();
          }}
          onClose={() => (asking.value = null)}
        >
          <p class="break">
            <strong>{safeText(asked.name)}</strong>: {WORKER_ACTS[asked.act].text}
          </p>
          <Command text={musterCommand('worker', asked.act, asked.id)} />
        </Confirm>
      )}
    </>
  );
}
