import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { type ApiError, apiError } from '../api/errors.js';
import type { Job } from '../api/types.js';
import { progress } from '../live/job.js';
import { applyToJobs } from '../live/jobs.js';
import { Snapshot, throttled } from '../live/snapshot.js';
import { go, place, setParameters } from '../navigation.js';
import { Command } from '../parts/command.jsx';
import { Failure, Note, Waiting } from '../parts/note.jsx';
import { number, plural } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { Save } from '../parts/save.jsx';
import { musterCommand } from '../parts/shell.js';
import { Status } from '../parts/status.jsx';
import { TextFilter } from '../parts/text-filter.jsx';
import { Ago } from '../parts/time.jsx';
import { hrefOf } from '../route.js';
import { signedIn } from '../session/session.js';
import { JOB_LOOKS, WITH_FAILURES } from '../statuses/push.js';
import { type Column, Table } from '../table/table.jsx';
import { fits, isJobFilter, JOB_FILTERS, type JobFilter, statusesOf } from './job-filter.js';
import { NewJob } from './new-job-link.jsx';
import { JobBar, JobStatus, shortId } from './parts.jsx';

const PAGE = 200;
const AGAIN_MS = 1000;

/** Push jobs, the newest first. */
export function JobsScreen() {
  const { query } = place.value;
  const given = (name: string) => query.get(name) ?? '';
  const filter = { status: given('status'), command: given('command'), by: given('by'), node: given('node') };
  const known = filter.status.split(',').every((status) => status === '' || isJobFilter(status));
  const chosen = new Set(filter.status.split(',').filter(isJobFilter));
  const toggle = (status: string): void => {
    const next = new Set<string>(chosen);
    if (!next.delete(status)) next.add(status);
    setParameters({ status: [...next].join(',') });
  };
  return (
    <>
      <div class="head">
        <div class="title">
          <h1>Push jobs</h1>
        </div>
        <div class="actions">
          <NewJob />
        </div>
      </div>
      <div class="filters">
        <TextFilter
          id="jobs-command"
          label="Command"
          value={filter.command}
          placeholder="chef-client, or chef*"
          first
          onValue={(command) => setParameters({ command })}
        />
        <TextFilter
          id="jobs-by"
          label="Started by"
          value={filter.by}
          placeholder="alice"
          onValue={(by) => setParameters({ by })}
        />
        <TextFilter
          id="jobs-node"
          label="On node"
          value={filter.node}
          placeholder="web1"
          onValue={(node) => setParameters({ node })}
        />
      </div>
      <div class="choices">
        {JOB_FILTERS.map((status) => (
          <button
            key={status}
            type="button"
            class="chip"
            aria-pressed={chosen.has(status)}
            onClick={() => toggle(status)}
          >
            <Status look={status === 'with_failures' ? WITH_FAILURES : JOB_LOOKS[status]} />
          </button>
        ))}
      </div>
      {!known && <Note>There is no such status as in {safeText(filter.status)}.</Note>}
      <Jobs command={filter.command} by={filter.by} node={filter.node} chosen={[...chosen]} />
    </>
  );
}

interface Filter {
  readonly chosen: readonly JobFilter[];
  readonly command: string;
  readonly by: string;
  readonly node: string;
}

function Jobs({ chosen, command, by, node }: Filter) {
  const { api, live } = signedIn();
  const { org } = api;
  const status = statusesOf(chosen).join(',');
  const snapshot = useSignal<Snapshot<readonly Job[]> | null>(null);
  const older = useSignal<readonly Job[]>([]);
  const next = useSignal<string | null>(null);
  const failed = useSignal<ApiError | null>(null);
  const query = {
    detail: true,
    limit: PAGE,
    status: status === '' ? undefined : status,
    command: command === '' ? undefined : command,
    requester: by === '' ? undefined : by,
    node: node === '' ? undefined : node,
  };
  useEffect(() => {
    older.value = [];
    failed.value = null;
    const before = snapshot.value?.loaded.value;
    const read = async (signal?: AbortSignal) => {
      const answer = await api.get<readonly Job[]>('/pushy/jobs', query, signal);
      if (older.value.length === 0) next.value = answer.next;
      return answer;
    };
    const again = throttled(AGAIN_MS, () => {
      read().then(
        ({ body }) => made.replace(() => body),
        // No other event may come that would ask for it: it is read until it could be.
        () => void made.reload(),
      );
    });
    const made = new Snapshot<readonly Job[]>({
      live,
      selector: "type LIKE 'push.%'",
      before: before?.state === 'ready' ? before : undefined,
      load: (signal) => api.at(() => read(signal)),
      apply: (jobs, events) => {
        const after = applyToJobs(jobs, events);
        if (after.stale) again.ask();
        return after.jobs;
      },
    });
    snapshot.value = made;
    return () => {
      made.stop();
      again.stop();
    };
  }, [JSON.stringify(query)]);
  const loaded = snapshot.value?.loaded.value ?? { state: 'loading' as const };
  if (loaded.state === 'loading') {
    return (
      <section class="card">
        <Waiting what="push jobs" />
      </section>
    );
  }
  if (loaded.state === 'failed') return <Failure error={loaded.error} again={() => void snapshot.value?.reload()} />;
  const filtered = status + command + by + node !== '';
  const shown = [...loaded.value, ...older.value];
  const all = [...new Map(shown.map((job) => [job.id, job])).values()];
  const jobs = all.filter((job) => fits(job, chosen));
  const more = async (): Promise<void> => {
    if (next.value === null) return;
    try {
      const page = await api.page<readonly Job[]>(next.value);
      older.value = [...older.value, ...page.body];
      next.value = page.next;
      failed.value = null;
    } catch (thrown) {
      failed.value = apiError(thrown);
    }
  };
  return (
    <>
      <section class="card">
        {jobs.length === 0 ? (
          <div class="empty">
            <h2>
              {filtered
                ? next.value === null
                  ? 'No job matches'
                  : `None of the newest ${number(all.length)} matches`
                : 'No push job yet'}
            </h2>
            {filtered ? (
              <>
                {command !== '' && !command.endsWith('*') && (
                  <>
                    <p>A command is looked for as it was given, with its arguments; a star stands for what follows.</p>
                    <button type="button" class="button" onClick={() => setParameters({ command: `${command}*` })}>
                      Show those that begin so
                    </button>
                  </>
                )}
                <button
                  type="button"
                  class="button"
                  onClick={() => setParameters({ status: null, command: null, by: null, node: null })}
                >
                  Show all push jobs
                </button>
              </>
            ) : (
              <>
                <p>A push job runs one command on many nodes, or on a quorum of them, now.</p>
                <Command text="muster push start role:web -- uptime" />
              </>
            )}
          </div>
        ) : (
          <Table
            label="Push jobs"
            columns={columns(org)}
            below={below}
            rows={jobs}
            keyOf={({ id }) => id}
            onOpen={({ id }) => go(hrefOf(org, { name: 'job', id }))}
          />
        )}
      </section>
      {failed.value !== null && <Failure error={failed.value} />}
      {jobs.length > 0 && (
        <div class="line">
          <span class="quiet number grow">{plural(jobs.length, 'push job')}</span>
          <Save name="push-jobs" rows={() => jobs} none={false} />
        </div>
      )}
      {next.value !== null && (
        <p>
          <button type="button" class="button" onClick={() => void more()}>
            Older jobs
          </button>
        </p>
      )}
      <Command
        text={musterCommand(
          'push',
          'list',
          ...(status === '' ? [] : ['--status', status]),
          ...(command === '' ? [] : ['--command', command]),
          ...(by === '' ? [] : ['--user', by]),
          ...(node === '' ? [] : ['--node', node]),
        )}
      />
    </>
  );
}

/** Where there is little room. */
function below({ counts, created_by }: Job): string {
  const { well, total } = progress(counts);
  return `${number(well)} of ${number(total)} ended well · by ${safeText(created_by)}`;
}

function columns(org: string): readonly Column<Job>[] {
  return [
    {
      id: 'command',
      head: 'Command',
      track: 'minmax(48px, 2fr)',
      cell: (job) => (
        <a class="mono" tabIndex={-1} href={hrefOf(org, { name: 'job', id: job.id })}>
          {safeText(job.command)}
        </a>
      ),
    },
    { id: 'status', head: 'Status', track: '124px', cell: (job) => <JobStatus job={job} /> },
    {
      id: 'nodes',
      head: 'Nodes',
      track: '130px',
      wide: true,
      cell: ({ counts }) => (
        <div title="ended well, of all">
          <JobBar counts={counts} />
          <span class="quiet number">
            {number(progress(counts).well)} of {number(progress(counts).total)}
          </span>
        </div>
      ),
    },
    { id: 'by', head: 'By', track: '100px', wide: true, cell: ({ created_by }) => safeText(created_by) },
    {
      id: 'id',
      head: 'Id',
      track: '90px',
      wide: true,
      cell: ({ id }) => <span class="mono quiet">{shortId(id)}</span>,
    },
    {
      id: 'at',
      head: 'Started',
      track: '80px',
      end: true,
      cell: ({ created_at }) => <Ago at={Date.parse(created_at)} />,
    },
  ];
}
