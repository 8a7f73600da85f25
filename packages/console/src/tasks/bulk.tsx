import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { type ApiError, apiError } from '../api/errors.js';
import type { TasksActedOn } from '../api/types.gen.js';
import { Command } from '../parts/command.jsx';
import { Confirm } from '../parts/confirm.jsx';
import { Dialog } from '../parts/dialog.jsx';
import { Failure, Waiting } from '../parts/note.jsx';
import { number, plural } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { musterCommand } from '../parts/shell.js';
import { hrefOf } from '../route.js';
import { signedIn } from '../session/session.js';
import { ACTIONS, type TaskAction } from './actions.js';
import {
  type Count,
  changedSince,
  counted,
  type Done,
  doneWith,
  NOTHING_COUNTED,
  NOTHING_DONE,
  SAMPLE,
} from './bulk-steps.js';
import { shortTaskId } from './parts.jsx';

/** What is to be done, and to which tasks. */
export interface Meant {
  readonly action: TaskAction;
  /** Only of this queue. */
  readonly queue: string | null;
  readonly ids?: readonly string[];
  readonly where?: string;
}

/** Tasks of one request: so often is told how far it is, and it can be stopped. */
const AT_ONCE = 500;

type State =
  | { readonly state: 'counting'; readonly so: number }
  | { readonly state: 'asking'; readonly count: Count }
  | { readonly state: 'acting'; readonly count: Count; readonly done: Done }
  | { readonly state: 'over'; readonly count: Count; readonly done: Done; readonly stopped: boolean };

/** Counts, asks, does it, and tells what became of it. */
export function BulkDialog({ meant, onClose }: { readonly meant: Meant; readonly onClose: () => void }) {
  const { api } = signedIn();
  const state = useSignal<State>({ state: 'counting', so: 0 });
  const error = useSignal<ApiError | null>(null);
  const stop = useRef(false);
  const about = ACTIONS[meant.action];
  const path = meant.queue === null ? '/tasks/actions' : `/queues/${encodeURIComponent(meant.queue)}/tasks/actions`;
  const ask = (body: object) => api.post<TasksActedOn>(path, { action: meant.action, ...body });

  useEffect(() => {
    const { ids, where } = meant;
    const count = async (): Promise<Count> => {
      let all = NOTHING_COUNTED;
      for (let from = 0; from < (ids?.length ?? 0) && !stop.current; from += AT_ONCE) {
        all = counted(all, await ask({ ids: ids?.slice(from, from + AT_ONCE), dry_run: true }));
        state.value = { state: 'counting', so: all.matched };
      }
      if (ids !== undefined) return { ...all, sample: ids.slice(0, SAMPLE) };
      for (let after: string | null | undefined; after !== null && !stop.current; ) {
        const answer = await ask({ where, dry_run: true, ...(after !== undefined && { after }) });
        all = counted(all, answer);
        after = answer.next;
        state.value = { state: 'counting', so: all.matched };
      }
      return all;
    };
    count().then(
      (all) => {
        state.value = { state: 'asking', count: all };
      },
      (thrown) => {
        error.value = apiError(thrown);
      },
    );
    return () => {
      stop.current = true;
    };
  }, []);

  const act = async (count: Count): Promise<void> => {
    const { ids, where } = meant;
    let done = NOTHING_DONE;
    const tell = (): void => {
      state.value = { state: 'acting', count, done };
    };
    tell();
    try {
      if (ids !== undefined) {
        for (let from = 0; from < ids.length && !stop.current; from += AT_ONCE) {
          done = doneWith(done, await ask({ ids: ids.slice(from, from + AT_ONCE) }));
          tell();
        }
      } else {
        const rest = { where, until: count.last, limit: AT_ONCE };
        for (let after: string | null | undefined; after !== null && !stop.current; ) {
          const answer = await ask({ ...rest, ...(after !== undefined && { after }) });
          done = doneWith(done, answer);
          after = answer.next;
          tell();
        }
      }
    } catch (thrown) {
      error.value = apiError(thrown);
    }
    const stopped = stop.current || error.value !== null;
    state.value = { state: 'over', count, done, stopped };
  };

  const { value: now } = state;
  const title = `${about.word} ${meant.ids === undefined ? 'all that match' : plural(meant.ids.length, 'task')}`;
  if (now.state === 'asking' && now.count.matched > 0) {
    const { matched, sample, refused } = now.count;
    return (
      <Confirm
        title={`${about.word} ${plural(matched, 'task')}?`}
        action={`${about.word} ${plural(matched, 'task')}`}
        leave="Leave them"
        tone={about.warning === null ? 'main-action' : 'danger'}
        count={matched}
        onConfirm={async () => void act(now.count)}
        onClose={() => {
          if (state.value.state === 'asking') onClose();
        }}
      >
        {about.warning !== null && <p>{about.warning}</p>}
        <p class="break">
          <span class="quiet">{sample.length < matched ? 'Such as' : 'These:'}</span>{' '}
          {sample.map((id, index) => (
            <>
              {index > 0 && ', '}
              <a class="mono" href={hrefOf(api.org, { name: 'task', id })} title={id}>
                {shortTaskId(id)}
              </a>
            </>
          ))}
          {sample.length < matched && <span class="quiet"> and {number(matched - sample.length)} more</span>}
        </p>
        <Left refused={refused} would />
        <Command text={commandOf(meant)} />
      </Confirm>
    );
  }
  return (
    <Dialog title={title} onClose={onClose}>
      {now.state === 'counting' && error.value === null && (
        <Waiting what={now.so === 0 ? 'how many there are' : `how many there are: ${number(now.so)} so far`} />
      )}
      {now.state === 'asking' && <p>No task is like that now.</p>}
      {now.state === 'acting' && (
        <>
          <Progress doing={about.doing} done={now.done.matched} of={now.count.matched} />
          <p class="quiet">It stops when this page is closed; what was done stays done.</p>
        </>
      )}
      {now.state === 'over' && <Outcome {...now} word={about.done} byIds={meant.ids !== undefined} />}
      {error.value !== null && <Failure error={error.value} />}
      <div class="actions">
        {now.state === 'acting' ? (
          <button type="button" class="button danger" onClick={() => (stop.current = true)}>
            Stop
          </button>
        ) : (
          <button type="button" class="button" onClick={onClose}>
            Close
          </button>
        )}
      </div>
    </Dialog>
  );
}

function Progress({ doing, done, of }: { readonly doing: string; readonly done: number; readonly of: number }) {
  return (
    <div class="stack">
      <label for="bulk-progress">
        {doing}{' '}
        <span class="number">
          {number(done)} of {number(of)}
        </span>
      </label>
      <progress id="bulk-progress" class="progress" value={done} max={Math.max(of, done, 1)} />
    </div>
  );
}

function Outcome({
  count,
  done,
  stopped,
  word,
  byIds,
}: {
  readonly count: Count;
  readonly done: Done;
  readonly stopped: boolean;
  readonly word: string;
  readonly byIds: boolean;
}) {
  const changed = stopped || byIds ? 0 : changedSince(count, done);
  return (
    <div class="stack" role="status">
      <p>
        <strong>
          {stopped ? 'Stopped: ' : ''}
          {plural(done.acted, 'task')} {word}
        </strong>
        {stopped && `, ${number(Math.max(0, count.matched - done.matched))} not looked at`}.
      </p>
      {changed > 0 && <p>{number(changed)} had changed since they were counted, and were left.</p>}
      <Left refused={done.refused} />
    </div>
  );
}

/** Which tasks are left as they are, and why. */
function Left({ refused, would = false }: { readonly refused: Done['refused']; readonly would?: boolean }) {
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

function commandOf({ action, queue, ids, where }: Meant): string {
  const of = queue === null ? [] : ['--queue', queue];
  const named = ids === undefined ? ['--where', where ?? ''] : ids.length <= 3 ? ids : [...ids.slice(0, 2), '…'];
  return musterCommand('task', ACTIONS[action].command, ...of, ...named);
}
