import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { type ApiError, apiError } from '../api/errors.js';
import type { BulkRun, TasksActedOn } from '../api/types.gen.js';
import { Command } from '../parts/command.jsx';
import { Confirm } from '../parts/confirm.jsx';
import { Dialog } from '../parts/dialog.jsx';
import { Failure, Waiting } from '../parts/note.jsx';
import { number, plural } from '../parts/numbers.js';
import { musterCommand } from '../parts/shell.js';
import { hrefOf } from '../route.js';
import { signedIn } from '../session/session.js';
import { ACTIONS, noneFor, type TaskAction } from './actions.js';
import { BulkProgress, Left, tasksPath } from './bulk-progress.jsx';
import { type Count, counted, NOTHING_COUNTED, SAMPLE } from './bulk-steps.js';
import { shortTaskId } from './parts.jsx';

/** What is to be done, and to which tasks. */
export interface Meant {
  readonly action: TaskAction;
  /** Only of this queue. */
  readonly queue: string | null;
  readonly ids?: readonly string[];
  readonly where?: string;
  /** What those of `where` are called together. */
  readonly together?: string;
}

/** Ids that are counted in one request. */
const AT_ONCE = 500;

type State =
  | { readonly state: 'counting'; readonly so: number }
  | { readonly state: 'asking'; readonly count: Count }
  | { readonly state: 'begun'; readonly count: Count; readonly run: BulkRun };

/** Counts, asks, has the server do it, and tells how far it is and what became of it. */
export function BulkDialog({ meant, onClose }: { readonly meant: Meant; readonly onClose: () => void }) {
  const { api } = signedIn();
  const state = useSignal<State>({ state: 'counting', so: 0 });
  const error = useSignal<ApiError | null>(null);
  const stop = useRef(false);
  const about = ACTIONS[meant.action];
  const path = tasksPath(meant.queue);
  const ask = (body: object) =>
    api.post<TasksActedOn>(`${path}/actions`, { action: meant.action, ...body, dry_run: true });

  useEffect(() => {
    const { ids, where } = meant;
    const count = async (): Promise<Count> => {
      let all = NOTHING_COUNTED;
      for (let from = 0; from < (ids?.length ?? 0) && !stop.current; from += AT_ONCE) {
        all = counted(all, await ask({ ids: ids?.slice(from, from + AT_ONCE) }));
        state.value = { state: 'counting', so: all.matched };
      }
      if (ids !== undefined) return { ...all, sample: ids.slice(0, SAMPLE) };
      for (let after: string | null | undefined; after !== null && !stop.current; ) {
        const answer = await ask({ where, ...(after !== undefined && { after }) });
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

  const begin = async (count: Count): Promise<void> => {
    const { action, ids, where } = meant;
    const which = ids === undefined ? { where, until: count.last } : { ids };
    try {
      const run = await api.post<BulkRun>(`${path}/bulk`, { action, ...which, counted: count.matched });
      state.value = { state: 'begun', count, run };
    } catch (thrown) {
      error.value = apiError(thrown);
    }
  };

  const { value: now } = state;
  const title = `${about.word} ${meant.ids === undefined ? (meant.together ?? 'all that match') : plural(meant.ids.length, 'task')}`;
  if (now.state === 'asking' && now.count.matched > 0 && error.value === null) {
    const { matched, sample, refused } = now.count;
    return (
      <Confirm
        title={`${about.word} ${plural(matched, 'task')}?`}
        action={`${about.word} ${plural(matched, 'task')}`}
        leave="Leave them"
        tone={about.warning === null ? 'main-action' : 'danger'}
        count={matched}
        onConfirm={() => begin(now.count)}
        onClose={() => {
          if (state.value.state === 'asking' && error.value === null) onClose();
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
      {now.state === 'asking' && error.value === null && <p>{noneFor(meant.action)}</p>}
      {now.state === 'begun' && <BulkProgress begun={now.run} queue={meant.queue} byIds={meant.ids !== undefined} />}
      {error.value !== null && <Failure error={error.value} />}
      <div class="actions">
        <button type="button" class="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}

function commandOf({ action, queue, ids, where }: Meant): string {
  const of = queue === null ? [] : ['--queue', queue];
  const named = ids === undefined ? ['--where', where ?? ''] : ids.length <= 3 ? ids : [...ids.slice(0, 2), '…'];
  return musterCommand('task', ACTIONS[action].command, ...of, ...named);
}
