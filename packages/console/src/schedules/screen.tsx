import { useSignal } from '@preact/signals';
import { type ApiError, apiError } from '../api/errors.js';
import type { Schedule, ScheduleRuns, Schedules } from '../api/types.gen.js';
import { useReading } from '../live/reading.js';
import { isTaskStatus } from '../live/tasks.js';
import { go, setParameters } from '../navigation.js';
import { Action } from '../parts/action.jsx';
import { Command } from '../parts/command.jsx';
import { Confirm } from '../parts/confirm.jsx';
import { equals } from '../parts/equals.js';
import { Listed } from '../parts/listed.jsx';
import { Shown } from '../parts/loaded.jsx';
import { Failure, Note } from '../parts/note.jsx';
import { Pane } from '../parts/pane.jsx';
import { safeText } from '../parts/safe-text.js';
import { musterCommand } from '../parts/shell.js';
import { Status } from '../parts/status.jsx';
import { Ago, At, In } from '../parts/time.jsx';
import { timeText } from '../parts/when.js';
import { hrefOf } from '../route.js';
import { signedIn } from '../session/session.js';
import type { Look } from '../statuses/look.js';
import { JOB_LOOKS } from '../statuses/push.js';
import { TASK_LOOKS } from '../statuses/tasks.js';
import type { Column } from '../table/table.jsx';

type ScheduleRow = Schedules[number];

const STATE_LOOKS: Readonly<Record<ScheduleRow['state'], Look>> = {
  active: { glyph: 'clock', word: 'active', tone: 'ok' },
  paused: { glyph: 'stop', word: 'paused', tone: 'warn' },
  held: { glyph: 'bang', word: 'held', tone: 'bad' },
};

const RUNS = 20;

/** What runs at its times. */
export function SchedulesScreen() {
  const { api } = signedIn();
  const kept = useReading<Schedules>({
    key: 'schedules',
    selector: "type LIKE 'schedule.%'",
    read: (signal) => api.get<Schedules>('/schedules', {}, signal),
  });
  return (
    <>
      <div class="head">
        <div class="title">
          <h1>Schedules</h1>
        </div>
      </div>
      <Listed
        of={kept}
        what={['schedules', 'schedule']}
        label="Schedules"
        columns={columns}
        keyOf={({ name }) => name}
        empty={() => <NoSchedules />}
        pane={{ parameter: 'schedule', of: ({ name }) => <Open key={name} name={name} again={kept.again} /> }}
      />
      <Command text="muster schedule list" />
    </>
  );
}

function NoSchedules() {
  return (
    <>
      <h2>No schedule yet</h2>
      <p>
        A schedule adds a task, or starts a push job, at its times, with the rights of whoever made it. Times that were
        missed while the server was away are made up for once.
      </p>
      <Command text="muster schedule create nightly --cron '0 3 * * *' --queue report --param kind=daily" />
    </>
  );
}

/** Of the last time at which it was due: how the run stands, or why there was none. */
function Last({ schedule: { state, last_run: run, last_missed: missed, reason } }: { readonly schedule: ScheduleRow }) {
  if (state === 'held' && reason !== null) return <span class="bad">{safeText(reason)}</span>;
  if (missed !== null && (run === null || missed.due_at > run.due_at)) {
    return <span class="warn">missed: {safeText(missed.reason)}</span>;
  }
  return run === null ? <span class="quiet">not yet</span> : <Outcome status={run.status} />;
}

function Outcome({ status }: { readonly status: string | null }) {
  if (status === null) return <span class="quiet">deleted</span>;
  const look = isTaskStatus(status) ? TASK_LOOKS[status] : (JOB_LOOKS as Readonly<Record<string, Look>>)[status];
  return look === undefined ? <span>{safeText(status)}</span> : <Status look={look} />;
}

const columns: readonly Column<ScheduleRow>[] = [
  {
    id: 'name',
    head: 'Schedule',
    track: 'minmax(0, 1.4fr)',
    cell: ({ name }) => <span class="mono">{safeText(name)}</span>,
  },
  { id: 'state', head: 'State', track: '84px', cell: ({ state }) => <Status look={STATE_LOOKS[state]} /> },
  {
    id: 'when',
    head: 'When',
    track: 'minmax(0, 1.2fr)',
    wide: true,
    cell: ({ cron, timezone }) => (
      <span title={timezone}>
        <code>{cron}</code> <span class="quiet">{timezone}</span>
      </span>
    ),
  },
  {
    id: 'what',
    head: 'What',
    track: 'minmax(0, 1.4fr)',
    wide: true,
    cell: ({ kind, queue, command }) =>
      kind === 'task' ? (
        <span>
          task of <span class="mono">{safeText(queue ?? 'a queue that is gone')}</span>
        </span>
      ) : (
        <span class="mono">{safeText(command ?? '')}</span>
      ),
  },
  { id: 'last', head: 'Last', track: 'minmax(0, 1fr)', wide: true, cell: (schedule) => <Last schedule={schedule} /> },
  {
    id: 'next',
    head: 'Next',
    track: '84px',
    end: true,
    cell: ({ next_run: next }) => (next === null ? <span class="quiet">–</span> : <In at={Date.parse(next)} />),
  },
];

const SIGNED =
  'it may start more later than who signs in here may: a signed request is needed, as the command makes it';

interface Read {
  readonly schedule: Schedule;
  readonly runs: ScheduleRuns;
}

function Open({ name, again }: { readonly name: string; readonly again: () => void }) {
  const { api } = signedIn();
  const path = `/schedules/${encodeURIComponent(name)}`;
  const kept = useReading<Read>({
    key: name,
    selector: `type LIKE 'schedule.%' AND ${equals('name', name)}`,
    read: async (signal) => {
      const schedule = await api.get<Schedule>(path, {}, signal);
      const runs = await api.get<ScheduleRuns>(`${path}/runs`, { limit: RUNS }, signal);
      return { ...schedule, body: { schedule: schedule.body, runs: runs.body } };
    },
  });
  const close = () => setParameters({ schedule: null }, { replace: false });
  return (
    <Pane label="The schedule" title={<span class="mono">{safeText(name)}</span>} onClose={close}>
      <div class="inside stack">
        <Shown of={kept} what="the schedule">
          {(read) => (
            <One
              {...read}
              path={path}
              again={() => {
                kept.again();
                again();
              }}
              onDeleted={() => {
                close();
                again();
              }}
            />
          )}
        </Shown>
      </div>
    </Pane>
  );
}

interface OneProps extends Read {
  readonly path: string;
  readonly again: () => void;
  readonly onDeleted: () => void;
}

function One({ schedule, runs, path, again, onDeleted }: OneProps) {
  const { api } = signedIn();
  const { org } = api;
  const error = useSignal<ApiError | null>(null);
  const deleting = useSignal(false);
  const act = async (action: 'pause' | 'run'): Promise<void> => {
    try {
      const done = await api.post<{ readonly task?: string | null; readonly job?: string | null }>(
        `${path}/${action}`,
        undefined,
      );
      error.value = null;
      if (action === 'run' && typeof done.task === 'string') go(hrefOf(org, { name: 'task', id: done.task }));
      else if (action === 'run' && typeof done.job === 'string') go(hrefOf(org, { name: 'job', id: done.job }));
      else again();
    } catch (thrown) {
      error.value = apiError(thrown);
    }
  };
  const resume = musterCommand('schedule', 'resume', schedule.name);
  return (
    <>
      <div class="line">
        <Status look={STATE_LOOKS[schedule.state]} badge />
        <span class="quiet cut">for {safeText(schedule.owner)}</span>
      </div>
      {schedule.reason !== null && <Note>{safeText(schedule.reason)}</Note>}
      <div class="actions">
        <Action small label="Run now" onClick={() => void act('run')} />
        {schedule.state === 'active' ? (
          <Action small label="Pause" onClick={() => void act('pause')} />
        ) : (
          <Action small label="Resume" may={{ may: false, why: SIGNED }} onClick={() => {}} />
        )}
        <Action small label="Delete …" tone="danger" onClick={() => (deleting.value = true)} />
      </div>
      {error.value !== null && <Failure error={error.value} />}
      {schedule.state !== 'active' && <Command text={resume} />}
      <dl class="facts">
        <dt>when</dt>
        <dd>
          {schedule.cron} {schedule.timezone}
        </dd>
        <dt>missed</dt>
        <dd>{schedule.missed}</dd>
        <dt>overlap</dt>
        <dd>{schedule.overlap}</dd>
        {schedule.not_during.length > 0 && (
          <>
            <dt>not during</dt>
            <dd>
              {safeText(schedule.not_during.join(', '))} ({schedule.blackout})
            </dd>
          </>
        )}
        {Object.entries(schedule.task ?? schedule.push ?? {}).map(([key, value]) => (
          <>
            <dt class="break">{safeText(key)}</dt>
            <dd>{safeText(typeof value === 'string' ? value : JSON.stringify(value))}</dd>
          </>
        ))}
      </dl>
      {schedule.waiting_since !== null && (
        <Note>
          The run of <At at={Date.parse(schedule.waiting_since)} /> waits
          {schedule.waiting_for === null
            ? ' for the end of the last one.'
            : ` for calendar ${safeText(schedule.waiting_for.calendar)} until ${timeText(Date.parse(schedule.waiting_for.until))}.`}
        </Note>
      )}
      <h3>Next</h3>
      <ul class="why-list">
        {schedule.next_runs.length === 0 && <li class="quiet">None while it does not run.</li>}
        {schedule.next_runs.map((at) => (
          <li key={at} class="number">
            <At at={Date.parse(at)} />{' '}
            <span class="quiet">
              <In at={Date.parse(at)} word="in " />
            </span>
          </li>
        ))}
      </ul>
      <h3>Last</h3>
      <Runs runs={runs} />
      <Command text={musterCommand('schedule', 'show', schedule.name)} />
      {deleting.value && (
        <Confirm
          title={`Delete ${safeText(schedule.name)}?`}
          action="Delete the schedule"
          leave="Leave it"
          onConfirm={async () => {
            await api.delete(path);
            onDeleted();
          }}
          onClose={() => (deleting.value = false)}
        >
          <p>What it has started goes on.</p>
          <Command text={musterCommand('schedule', 'rm', schedule.name)} />
        </Confirm>
      )}
    </>
  );
}

/** What it has started, and the times at which it did not. */
function Runs({ runs }: { readonly runs: ScheduleRuns }) {
  const { org } = signedIn().api;
  if (runs.length === 0) return <p class="quiet">It has not been due yet.</p>;
  return (
    <ul class="why-list">
      {runs.map((run) => (
        <li key={`${run.at} ${run.task ?? run.job}`} class="break">
          <div class="line">
            {run.outcome === 'missed' ? (
              <span class="warn">missed{run.count > 1 && `, ${run.count} times`}</span>
            ) : (
              <Outcome status={run.status} />
            )}
            <span class="grow">
              {run.task !== null && <a href={hrefOf(org, { name: 'task', id: run.task })}>task</a>}
              {run.job !== null && <a href={hrefOf(org, { name: 'job', id: run.job })}>job</a>}
            </span>
            <span class="quiet">
              <Ago at={Date.parse(run.at)} word=" ago" />
            </span>
          </div>
          {run.reason !== null && <span class="quiet">{safeText(run.reason)}</span>}
        </li>
      ))}
    </ul>
  );
}
