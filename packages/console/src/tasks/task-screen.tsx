import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { type ApiError, apiError } from '../api/errors.js';
import type { Task, TaskAttempts } from '../api/types.gen.js';
import { useReading } from '../live/reading.js';
import { applyToTasks, ENDED_STATUSES } from '../live/tasks.js';
import { go, place, setParameters } from '../navigation.js';
import { STREAMS, StreamChoice } from '../output/stream-choice.jsx';
import { Viewer } from '../output/viewer.jsx';
import { Action } from '../parts/action.jsx';
import { Card } from '../parts/card.jsx';
import { Command } from '../parts/command.jsx';
import { Confirm } from '../parts/confirm.jsx';
import { equals } from '../parts/equals.js';
import { Shown } from '../parts/loaded.jsx';
import { Failure, Note } from '../parts/note.jsx';
import { number } from '../parts/numbers.js';
import { Prose } from '../parts/prose.jsx';
import { safeText } from '../parts/safe-text.js';
import { musterCommand } from '../parts/shell.js';
import { Status } from '../parts/status.jsx';
import { Ago } from '../parts/time.jsx';
import { hrefOf } from '../route.js';
import { mayI, signedIn } from '../session/session.js';
import { TASK_LOOKS } from '../statuses/tasks.js';
import { ACTIONS, TASK_ACTIONS, type TaskAction } from './actions.js';
import { shortTaskId, TaskStatus } from './parts.jsx';

interface ReadTask {
  /** Null: it was deleted. */
  readonly task: Task | null;
  readonly attempts: TaskAttempts;
}

/** One task: why it is where it is, its runs, and what it writes. */
export function TaskScreen({ id }: { readonly id: string }) {
  const { api } = signedIn();
  const path = `/tasks/${encodeURIComponent(id)}`;
  const kept = useReading<ReadTask>({
    key: id,
    selector: `${equals('task', id)} AND type LIKE 'task.%'`,
    read: async (signal) => {
      const task = await api.get<Task>(path, {}, signal);
      const attempts = await api.get<TaskAttempts>(`${path}/attempts`, { limit: 1000 }, signal);
      return { ...task, body: { task: task.body, attempts: attempts.body } };
    },
    apply: (before, events) => {
      const { state } = applyToTasks(before.task === null ? [] : [before.task], events, true);
      const task = state[0] ?? null;
      return { state: { ...before, task }, stale: task !== null };
    },
  });
  return (
    <>
      {kept.loaded.state === 'failed' && <h1>Task</h1>}
      <Shown of={kept} what="the task">
        {({ task, attempts }) =>
          task === null ? <Gone /> : <One task={task} attempts={attempts} again={kept.again} />
        }
      </Shown>
      {kept.loaded.state === 'failed' && (
        <p>
          <a href={hrefOf(api.org, { name: 'tasks' })}>All tasks</a>
        </p>
      )}
    </>
  );
}

function Gone() {
  const { org } = signedIn().api;
  return (
    <>
      <h1>Task</h1>
      <section class="card">
        <div class="empty">
          <h2>This task was deleted, with its output</h2>
          <a href={hrefOf(org, { name: 'tasks' })}>All tasks</a>
        </div>
      </section>
    </>
  );
}

interface OneProps extends ReadTask {
  readonly task: Task;
  readonly again: () => void;
}

function One({ task, attempts, again }: OneProps) {
  const { api } = signedIn();
  const { org } = api;
  const error = useSignal<ApiError | null>(null);
  const deleting = useSignal(false);
  const allowed = mayI('task:write');
  const path = `/tasks/${task.id}`;
  const act = async (action: TaskAction): Promise<void> => {
    if (action === 'remove') {
      deleting.value = true;
      return;
    }
    try {
      await api.post(`${path}/${action}`, action === 'hold' ? {} : undefined);
      error.value = null;
      again();
    } catch (thrown) {
      error.value = apiError(thrown);
    }
  };
  return (
    <>
      <div class="head">
        <div class="title">
          <p>
            <a href={hrefOf(org, { name: 'queues' })}>Task queues</a>
            {task.queue !== null && (
              <>
                {' / '}
                <a class="mono" href={hrefOf(org, { name: 'queue', queue: task.queue })}>
                  {safeText(task.queue)}
                </a>
              </>
            )}
          </p>
          <h1 class="mono break">{task.id}</h1>
          <div class="line quiet">
            <TaskStatus task={task} badge />
            {task.node !== null && (
              <span class="cut">
                on <a href={hrefOf(org, { name: 'node', node: task.node })}>{safeText(task.node)}</a>
              </span>
            )}
            <span class="cut">
              <Ago at={Date.parse(task.mtime)} word=" ago" />
            </span>
          </div>
        </div>
        <div class="actions">
          {TASK_ACTIONS.map((action) => {
            const { word, of, done } = ACTIONS[action];
            const can = of.includes(task.status);
            const why = `a task that is ${TASK_LOOKS[task.status].word} cannot be ${done}`;
            return (
              <Action
                key={action}
                label={action === 'remove' ? `${word} …` : word}
                tone={action === 'remove' ? 'danger' : ''}
                may={can ? allowed : { may: false, why }}
                onClick={() => void act(action)}
              />
            );
          })}
        </div>
      </div>
      {error.value !== null && <Failure error={error.value} />}
      <section class="card">
        <div class="inside stack">
          {task.status === 'running' && <Progress key={task.attempt} task={task} />}
          <div class="why-list">
            <h2>Why it is where it is</h2>
            {task.why.map((text) => (
              <p key={text} class="break">
                <Prose text={text} />
              </p>
            ))}
            {task.after.length > 0 && (
              <p class="break">
                After{' '}
                {task.after.map((id, index) => (
                  <>
                    {index > 0 && ', '}
                    <a class="mono" href={hrefOf(org, { name: 'task', id })} title={id}>
                      {shortTaskId(id)}
                    </a>
                  </>
                ))}
              </p>
            )}
          </div>
        </div>
      </section>
      <div class="two">
        <Card title="Parameters">
          <Values of={task.params} none="It has none." />
        </Card>
        <Attempts attempts={attempts} task={task} />
      </div>
      <Output task={task} attempts={attempts} />
      <Command text={musterCommand('task', 'show', task.id)} />
      {deleting.value && (
        <Confirm
          title="Delete this task?"
          action="Delete the task"
          leave="Leave it"
          onConfirm={async () => {
            await api.delete(path);
            if (task.queue !== null) go(hrefOf(org, { name: 'queue', queue: task.queue }));
          }}
          onClose={() => (deleting.value = false)}
        >
          <p>It is gone with its output, and cannot be brought back.</p>
          <Command text={musterCommand('task', 'rm', task.id)} />
        </Confirm>
      )}
    </>
  );
}

/** How far the run is, as its plugin says. */
function Progress({ task }: { readonly task: Task }) {
  const { api } = signedIn();
  const progress = useSignal(task.progress);
  useEffect(() => {
    const feed = new EventSource(api.path(`/tasks/${task.id}/feed`));
    feed.addEventListener('progress', ({ data }) => {
      progress.value = JSON.parse(data);
    });
    return () => feed.close();
  }, [task.id]);
  if (progress.value === null) return null;
  const { fraction, text } = progress.value;
  return (
    <div class="share">
      <label for="task-progress" class="cut">
        {safeText(text === '' ? 'Progress' : text)}
      </label>
      <progress id="task-progress" class="progress" value={fraction} max={1} />
      <span class="number">{Math.round(fraction * 100)} %</span>
    </div>
  );
}

function Values({ of, none }: { readonly of: Readonly<Record<string, unknown>>; readonly none: string }) {
  const entries = Object.entries(of);
  if (entries.length === 0) return <p class="inside quiet">{none}</p>;
  return (
    <dl class="facts inside">
      {entries.map(([name, value]) => (
        <>
          <dt class="break">{safeText(name)}</dt>
          <dd>{safeText(typeof value === 'string' ? value : JSON.stringify(value))}</dd>
        </>
      ))}
    </dl>
  );
}

function Attempts({ attempts, task }: ReadTask & { readonly task: Task }) {
  const { org } = signedIn().api;
  return (
    <Card title="Runs" aside={<span class="quiet">of {safeText(task.requester)}</span>}>
      {attempts.length === 0 ? (
        <p class="inside quiet">No node has had it yet.</p>
      ) : (
        <ul class="lines">
          {[...attempts].reverse().map((attempt) => (
            <li key={attempt.attempt}>
              <div class="line">
                <a
                  class="number"
                  href={hrefOf(org, { name: 'task', id: task.id }, { attempt: String(attempt.attempt) })}
                >
                  {number(attempt.attempt)}
                </a>
                <Status look={TASK_LOOKS[attempt.status]} />
                <span class="grow cut">
                  {attempt.node !== null && (
                    <a href={hrefOf(org, { name: 'node', node: attempt.node })}>{safeText(attempt.node)}</a>
                  )}
                </span>
                <span class="quiet">{endOf(attempt)}</span>
                {attempt.started !== null && (
                  <span class="quiet">
                    <Ago at={Date.parse(attempt.started)} word=" ago" />
                  </span>
                )}
              </div>
              {attempt.reason !== null && <span class="quiet break">{safeText(attempt.reason)}</span>}
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function endOf({ exit_code: code, signal }: TaskAttempts[number]): string {
  if (signal !== null) return signal;
  return code === null ? '' : `exit ${code}`;
}

function Output({ task, attempts }: ReadTask & { readonly task: Task }) {
  const { api } = signedIn();
  const { query } = place.value;
  const asked = query.get('attempt');
  const attempt = asked === null ? task.attempt : Number(asked);
  const stream = STREAMS.find((each) => each === query.get('stream')) ?? 'stdout';
  if (task.attempt === 0) return null;
  if (asked !== null && !attempts.some((each) => each.attempt === attempt)) {
    return <Note>It has no run {safeText(asked)}.</Note>;
  }
  const path = api.path(`/tasks/${task.id}/output/${stream}?attempt=${attempt}`);
  const goesOn = attempt === task.attempt && task.node !== null && !ENDED_STATUSES.has(task.status);
  return (
    <section class="card">
      <header>
        <h2>Output{task.attempt > 1 && ` of run ${number(attempt)}`}</h2>
        <StreamChoice
          stream={stream}
          onStream={(each) => setParameters({ stream: each === 'stdout' ? null : each, line: null })}
        />
      </header>
      <Viewer key={path} path={path} fileName={`${task.id}-${attempt}.${stream}`} goesOn={goesOn} />
    </section>
  );
}
