import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { type ApiError, apiError } from '../api/errors.js';
import type { Tasks } from '../api/types.gen.js';
import type { Queue } from '../live/queues.js';
import { useReading } from '../live/reading.js';
import { applyToTasks, isTaskStatus, type ListedTask, TASK_STATUSES } from '../live/tasks.js';
import { go, place, setParameters } from '../navigation.js';
import { Action } from '../parts/action.jsx';
import { Command } from '../parts/command.jsx';
import { Shown } from '../parts/loaded.jsx';
import { Failure, Note, sentence } from '../parts/note.jsx';
import { number, plural } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { Save } from '../parts/save.jsx';
import { faultOf, SelectorField } from '../parts/selector-field.jsx';
import { musterCommand } from '../parts/shell.js';
import { Status } from '../parts/status.jsx';
import { Ago } from '../parts/time.jsx';
import { hrefOf } from '../route.js';
import { mayI, signedIn } from '../session/session.js';
import { TASK_LOOKS } from '../statuses/tasks.js';
import { type Column, Table } from '../table/table.jsx';
import { ACTIONS, countFor, selectorOf, TASK_ACTIONS, type TaskAction, whereFor } from './actions.js';
import { BulkDialog, type Meant } from './bulk.jsx';
import { BulkRunning } from './bulk-progress.jsx';
import { paramsText, shortTaskId, TaskStatus } from './parts.jsx';
import { filtersOfWord } from './word-alone.js';

const PAGE = 200;
/** Pages that are asked for one after the other as long as they have nothing: a search looks at so many tasks at a time. */
const EMPTY_PAGES = 20;
const WORDS = [
  ...['id', 'status', 'code', 'node', 'attempt', 'failures', 'priority', 'requester', 'key', 'reason', 'exit_code'],
  ...['ctime', 'mtime', 'started', 'ended', 'not_before', 'queue', 'plugin', 'params.'],
];

interface Props {
  /** Only its tasks; null: those of all queues. */
  readonly queue: Queue | null;
}

/** Tasks by a selector and their statuses, and what is done to all that match. */
export function TaskList({ queue }: Props) {
  const { query } = place.value;
  const q = query.get('q') ?? '';
  const asked = (query.get('status') ?? '').split(',').filter((status) => status !== '');
  const chosen = asked.filter(isTaskStatus);
  const unknown = asked.filter((status) => !isTaskStatus(status));
  const toggle = (status: string): void => {
    const next = new Set<string>(chosen);
    if (!next.delete(status)) next.add(status);
    setParameters({ status: [...next].join(',') });
  };
  const faulty = faultOf(q, true) !== null;
  const where = selectorOf(chosen, q);
  return (
    <>
      <SelectorField
        id="tasks-filter"
        label="Which tasks"
        value={q}
        placeholder={queue === null ? 'queue:resize AND params.width > 100' : 'params.width > 100 AND node:web1'}
        sugar
        words={WORDS}
        onValue={(text) => setParameters({ q: text })}
      />
      <div class="choices">
        {TASK_STATUSES.filter((status) => queue === null || queue.counts[status] > 0 || chosen.includes(status)).map(
          (status) => (
            <button
              key={status}
              type="button"
              class="chip"
              aria-pressed={chosen.includes(status)}
              onClick={() => toggle(status)}
            >
              <Status look={TASK_LOOKS[status]} />
              {queue !== null && <span class="number">{number(queue.counts[status])}</span>}
            </button>
          ),
        )}
      </div>
      <BulkRunning queue={queue?.name ?? null} />
      {unknown.length > 0 && <Note>There is no status {safeText(unknown.join(', '))}.</Note>}
      {faulty ? (
        <Note>The filter cannot be read. See what is wrong with it above.</Note>
      ) : (
        <Found key={queue?.id} queue={queue} where={where} q={q} />
      )}
      <Command
        text={musterCommand('task', 'list', where === '' ? null : where, ...(queue ? ['--queue', queue.name] : []))}
      />
    </>
  );
}

interface FoundProps extends Props {
  readonly where: string;
  readonly q: string;
}

function Found({ queue, where, q }: FoundProps) {
  const { api } = signedIn();
  const { org } = api;
  const older = useSignal<readonly ListedTask[]>([]);
  /** Where the pages after those that were loaded begin; undefined: where the first one says. */
  const next = useSignal<string | null | undefined>(undefined);
  const failed = useSignal<ApiError | null>(null);
  const selected = useSignal<ReadonlySet<string>>(new Set());
  useEffect(() => {
    older.value = [];
    next.value = undefined;
    failed.value = null;
    selected.value = new Set();
  }, [where]);
  const asking = useSignal<Meant | null>(null);
  const path = queue === null ? '/tasks' : `/queues/${encodeURIComponent(queue.id)}/tasks`;
  const page = async (after: string | undefined, signal?: AbortSignal) => {
    let answer = await api.get<Tasks>(path, { q: where, limit: PAGE, after }, signal);
    for (let pages = 1; pages < EMPTY_PAGES && answer.body.tasks.length === 0 && answer.body.next !== null; pages++) {
      const further = await api.get<Tasks>(path, { q: where, limit: PAGE, after: answer.body.next }, signal);
      answer = { ...further, position: answer.position };
    }
    return answer;
  };
  const kept = useReading<Tasks>({
    key: `${queue?.id} ${where}`,
    selector: queue === null ? "type LIKE 'task.%'" : `queue = '${queue.id}' AND type LIKE 'task.%'`,
    read: (signal) => page(undefined, signal),
    apply: (before, events) => {
      const { state, stale } = applyToTasks(before.tasks, events, where !== '');
      older.value = applyToTasks(older.value, events, false).state;
      return { state: state === before.tasks ? before : { ...before, tasks: state }, stale };
    },
  });
  const more = async (after: string): Promise<void> => {
    try {
      const { body } = await page(after);
      older.value = [...older.value, ...body.tasks];
      next.value = body.next;
      failed.value = null;
    } catch (thrown) {
      failed.value = apiError(thrown);
    }
  };
  const chosen = (place.value.query.get('status') ?? '').split(',').filter(isTaskStatus);
  const allowed = mayI('task:write');
  return (
    <Shown of={kept} what="tasks" advice={({ tasks }) => <WordAlone q={q} tasks={tasks} />}>
      {(first) => {
        const tasks = [...new Map([...first.tasks, ...older.value].map((task) => [task.id, task])).values()];
        const rest = next.value === undefined ? first.next : next.value;
        const ids = tasks.filter(({ id }) => selected.value.has(id)).map(({ id }) => id);
        const ofAll = queue === null ? 'all tasks' : `all tasks of ${safeText(queue.name)}`;
        const together = where === '' ? ofAll : 'all that match';
        const ask = (action: TaskAction): void => {
          const all = ids.length === 0 ? whereFor(action, chosen, q) : null;
          if (ids.length > 0) asking.value = { action, queue: queue?.name ?? null, ids };
          else if (all !== null) asking.value = { action, queue: queue?.name ?? null, where: all, together };
        };
        /** To how many it is done; null: that is not known before they are counted. */
        const count = (action: TaskAction): number | null =>
          ids.length > 0 || queue === null || q !== '' ? null : countFor(action, chosen, queue.counts);
        const notOf = (action: TaskAction): string | null => {
          if (ids.length > 0) return null;
          if (whereFor(action, chosen, q) === null)
            return `no task of the statuses that are chosen can be ${ACTIONS[action].done}`;
          return count(action) === 0 ? `no task can be ${ACTIONS[action].done} now` : null;
        };
        return (
          <>
            <section class="card">
              {tasks.length === 0 ? (
                <NoTasks queue={queue} filtered={where !== ''} />
              ) : (
                <Table
                  label="Tasks"
                  columns={columns(org, queue)}
                  rows={tasks}
                  keyOf={({ id }) => id}
                  onOpen={({ id }) => go(hrefOf(org, { name: 'task', id }))}
                  selected={selected.value}
                  onSelect={({ id }) => {
                    const after = new Set(selected.value);
                    if (!after.delete(id)) after.add(id);
                    selected.value = after;
                  }}
                />
              )}
              {tasks.length > 0 && kept.refused === null && (
                <div class={ids.length > 0 ? 'selected' : 'selected none'}>
                  <strong class="number">
                    {ids.length > 0 ? `${plural(ids.length, 'task')} selected:` : sentence(`${together}:`)}
                  </strong>
                  {TASK_ACTIONS.map((action) => {
                    const why = notOf(action);
                    const so = count(action) ?? 0;
                    return (
                      <Action
                        key={action}
                        small
                        label={so === 0 ? `${ACTIONS[action].word} …` : `${ACTIONS[action].word} ${number(so)} …`}
                        tone={action === 'remove' ? 'danger' : ''}
                        may={why === null ? allowed : { may: false, why }}
                        onClick={() => ask(action)}
                      />
                    );
                  })}
                  {ids.length > 0 && (
                    <button type="button" class="button plain small" onClick={() => (selected.value = new Set())}>
                      Clear
                    </button>
                  )}
                </div>
              )}
            </section>
            {failed.value !== null && <Failure error={failed.value} />}
            {tasks.length > 0 && (
              <div class="line">
                <span class="quiet number grow">{plural(tasks.length, 'task')} shown</span>
                <Save name="tasks" rows={() => tasks} none={false} />
              </div>
            )}
            {rest !== null && (
              <p>
                <button type="button" class="button" onClick={() => void more(rest)}>
                  Older tasks
                </button>
              </p>
            )}
            {asking.value !== null && (
              <BulkDialog
                meant={asking.value}
                onClose={() => {
                  asking.value = null;
                  selected.value = new Set();
                  kept.again();
                }}
              />
            )}
          </>
        );
      }}
    </Shown>
  );
}

/** Where a word is looked for that stands in a parameter, as far as the tasks tell how those are called. */
function WordAlone({ q, tasks }: { readonly q: string; readonly tasks: readonly ListedTask[] }) {
  const meant = filtersOfWord(q, tasks);
  if (meant.length === 0) return null;
  return (
    <span class="line wraps">
      In a parameter:
      {meant.map((text) => (
        <button
          key={text}
          type="button"
          class="button small mono"
          onClick={() => setParameters({ q: text }, { replace: false })}
        >
          {safeText(text)}
        </button>
      ))}
    </span>
  );
}

function NoTasks({ queue, filtered }: { readonly queue: Queue | null; readonly filtered: boolean }) {
  return (
    <div class="empty">
      <h2>{filtered ? 'No task matches' : 'No task yet'}</h2>
      {filtered ? (
        <button type="button" class="button" onClick={() => setParameters({ q: null, status: null })}>
          Show all tasks
        </button>
      ) : (
        <>
          <p>A task is one run of the plugin of its queue, with parameters of its own. Add one, or a file of them:</p>
          <Command text={musterCommand('task', 'add', queue?.name ?? 'resize', '--param', 'file=a.png')} />
          <Command text={musterCommand('task', 'add', queue?.name ?? 'resize', '--from', 'tasks.jsonl')} />
        </>
      )}
    </div>
  );
}

function columns(org: string, queue: Queue | null): readonly Column<ListedTask>[] {
  const ofQueue: Column<ListedTask> = {
    id: 'queue',
    head: 'Queue',
    track: 'minmax(0, 1fr)',
    wide: true,
    cell: ({ queue: name }) =>
      name === null ? (
        <span class="quiet">gone</span>
      ) : (
        <a class="mono" tabIndex={-1} href={hrefOf(org, { name: 'queue', queue: name })}>
          {safeText(name)}
        </a>
      ),
  };
  return [
    {
      id: 'id',
      head: 'Task',
      track: '132px',
      wide: true,
      cell: ({ id }) => (
        <a class="mono" tabIndex={-1} href={hrefOf(org, { name: 'task', id })} title={id}>
          {shortTaskId(id)}
        </a>
      ),
    },
    ...(queue === null ? [ofQueue] : []),
    { id: 'status', head: 'Status', track: '104px', cell: (task) => <TaskStatus task={task} /> },
    {
      id: 'params',
      head: 'Parameters',
      track: 'minmax(0, 2.4fr)',
      cell: ({ params }) => <span class="mono">{safeText(paramsText(params))}</span>,
    },
    {
      id: 'why',
      head: 'Reason',
      track: 'minmax(0, 1.6fr)',
      wide: true,
      cell: ({ reason }) => <span class="quiet">{safeText(reason ?? '')}</span>,
    },
    {
      id: 'node',
      head: 'Node',
      track: '100px',
      wide: true,
      cell: ({ node }) =>
        node === null ? (
          <span class="quiet">–</span>
        ) : (
          <a class="mono" tabIndex={-1} href={hrefOf(org, { name: 'node', node })}>
            {safeText(node)}
          </a>
        ),
    },
    { id: 'attempt', head: 'Run', track: '44px', wide: true, end: true, cell: ({ attempt }) => number(attempt) },
    {
      id: 'at',
      head: 'Since',
      track: '60px',
      wide: true,
      end: true,
      cell: ({ mtime }) => <Ago at={Date.parse(mtime)} />,
    },
  ];
}
