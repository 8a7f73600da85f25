import type { BulkRun } from '../api/types.gen.js';
import { applyToBulk } from '../live/bulk.js';
import { useReading } from '../live/reading.js';
import { Action } from '../parts/action.jsx';
import { useAttempt } from '../parts/attempt.js';
import { Command } from '../parts/command.jsx';
import { Shown } from '../parts/loaded.jsx';
import { Failure } from '../parts/note.jsx';
import { number, plural } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { musterCommand } from '../parts/shell.js';
import { mayI, signedIn } from '../session/session.js';
import { ACTIONS } from './actions.js';
import { changedSince } from './bulk-steps.js';

/** @param queue Of this queue alone; null: of all. */
export function tasksPath(queue: string | null): string {
  return queue === null ? '/tasks' : `/queues/${encodeURIComponent(queue)}/tasks`;
}

interface Props {
  /** As the server answered when it began. */
  readonly begun: BulkRun;
  readonly queue: string | null;
  /** Of tasks that were named: those that are gone are told as such. */
  readonly byIds: boolean;
}

/** How far the server is with many tasks, and how it ended. */
export function BulkProgress({ begun, queue, byIds }: Props) {
  const { api } = signedIn();
  const path = `${tasksPath(queue)}/bulk/${begun.id}`;
  const kept = useReading<BulkRun>({
    key: begun.id,
    selector: `type = 'task.bulk' AND bulk = '${begun.id}'`,
    read: (signal) => api.get<BulkRun>(path, {}, signal),
    apply: (run, events) => {
      const { state, stale } = applyToBulk([run], events);
      return { state: state[0] ?? run, stale };
    },
  });
  return (
    <Shown of={kept} what="how far it is">
      {(run) =>
        run.state === 'running' ? (
          <>
            <Running run={run} path={path} queue={queue} />
            <p class="quiet">The server does it, also when this page is closed. What was done stays done.</p>
          </>
        ) : (
          <Outcome run={run} byIds={byIds} />
        )
      }
    </Shown>
  );
}

/** What the server is doing to many tasks just now, whoever asked for it; nothing when it is at none. */
export function BulkRunning({ queue }: { readonly queue: string | null }) {
  const { api } = signedIn();
  const path = `${tasksPath(queue)}/bulk`;
  const kept = useReading<readonly BulkRun[]>({
    key: path,
    selector: "type = 'task.bulk'",
    read: (signal) => api.get<readonly BulkRun[]>(path, {}, signal),
    apply: applyToBulk,
  });
  if (kept.loaded.state === 'failed') return <Failure error={kept.loaded.error} again={kept.again} />;
  const running = kept.loaded.state === 'ready' ? kept.loaded.value.filter(({ state }) => state === 'running') : [];
  if (running.length === 0) return null;
  return (
    <section class="card stack" aria-label="What the server does to many tasks">
      {running.map((run) => (
        <Running key={run.id} run={run} path={`${path}/${run.id}`} queue={queue} by />
      ))}
      <Command text={musterCommand('task', 'bulk', 'list', ...(queue === null ? [] : ['--queue', queue]))} />
    </section>
  );
}

interface RunningProps extends Pick<Props, 'queue'> {
  readonly run: BulkRun;
  readonly path: string;
  readonly by?: boolean;
}

function Running({ run, path, queue, by = false }: RunningProps) {
  const { api } = signedIn();
  const { busy, error, attempt } = useAttempt();
  const { id, action, matched, counted } = run;
  const stop = (): void => void attempt(async () => void (await api.post(`${path}/stop`, {})));
  return (
    <div class="stack">
      <label for={`bulk-${id}`}>
        {ACTIONS[action].doing}{' '}
        <span class="number">
          {number(matched)}
          {counted !== null && ` of ${number(counted)}`}
        </span>
        {by && <span class="quiet"> by {safeText(run.by)}</span>}
        {run.where !== null && run.where !== '' && <span class="mono quiet break"> {safeText(run.where)}</span>}
      </label>
      <div class="line">
        <progress id={`bulk-${id}`} class="progress grow" value={matched} max={Math.max(counted ?? 0, matched, 1)} />
        <Action
          small
          label="Stop"
          tone="danger"
          may={mayI(queue === null ? 'task:write' : 'queue:write')}
          busy={busy.value}
          onClick={stop}
        />
      </div>
      {error.value !== null && <Failure error={error.value} />}
    </div>
  );
}

function Outcome({ run, byIds }: { readonly run: BulkRun; readonly byIds: boolean }) {
  const { state, action, acted, matched, counted, refused, reason } = run;
  const whole = state === 'done';
  const changed = whole && !byIds ? changedSince(counted, matched) : 0;
  return (
    <div class="stack" role="status">
      <p>
        <strong>
          {whole ? '' : `${state === 'stopped' ? 'Stopped' : 'Failed'}: `}
          {plural(acted, 'task')} {ACTIONS[action].done}
        </strong>
        {!whole && counted !== null && `, ${number(Math.max(0, counted - matched))} not looked at`}.
      </p>
      {reason !== null && <p>{safeText(reason)}.</p>}
      {changed > 0 && <p>{number(changed)} had changed since they were counted, and were left.</p>}
      <Left refused={refused} />
    </div>
  );
}

/** Which tasks are left as they are, and why. */
export function Left({ refused, would = false }: { readonly refused: BulkRun['refused']; readonly would?: boolean }) {
  if (refused.length === 0) return null;
  return (
    <ul class="why-list">
      {refused.map(({ reason, tasks }) => (
        <li key={reason} class="break">
          {would ? `${number(tasks)} would be` : plural(tasks, 'was', 'were')} left: {safeText(reason)}.
        </li>
      ))}
    </ul>
  );
}
