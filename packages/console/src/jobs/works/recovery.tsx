import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { type ApiError, apiError } from '../../api/errors.js';
import type { JobRecovery } from '../../api/types.gen.js';
import { useReading } from '../../live/reading.js';
import { setParameters } from '../../navigation.js';
import { Listed } from '../../parts/listed.jsx';
import { Failure } from '../../parts/note.jsx';
import { number } from '../../parts/numbers.js';
import { Pane } from '../../parts/pane.jsx';
import { safeText } from '../../parts/safe-text.js';
import { Status } from '../../parts/status.jsx';
import { Ago } from '../../parts/time.jsx';
import { hrefOf } from '../../route.js';
import { signedIn } from '../../session/session.js';
import { word } from '../../statuses/jobs.js';
import type { Column } from '../../table/table.jsx';
import { Recovery } from '../recovery.jsx';

/** Most rows that are shown. */
const MOST = 200;
/** A job that is blocked, or is not any more, and what becomes of what it waits for. */
const TOLD = "type LIKE 'job.%' OR type LIKE 'job_recovery.%'";

/** What blocked jobs wait for. */
export function BlockedPart() {
  const { api } = signedIn();
  const kept = useReading({
    key: '',
    read: (signal) => api.get<JobRecovery>('/job-recovery', { limit: MOST }, signal),
    selector: TOLD,
  });
  return (
    <Listed
      of={kept}
      what={['records', 'record of recovery']}
      most={MOST}
      label="What blocked jobs wait for"
      columns={RECOVERY_COLUMNS}
      keyOf={({ id }) => id}
      empty={() => (
        <>
          <h2>No job is blocked</h2>
          <p>
            A job whose way is barred by what passes, such as a quota or a host that is away, waits here with all that
            wait for the same. One test decides about all of them.
          </p>
        </>
      )}
      pane={{
        parameter: 'id',
        of: (record) => (
          <Pane
            label="What is waited for"
            title={safeText(word(record.condition))}
            onClose={() => setParameters({ id: null })}
          >
            <Recovery recovery={record} again={kept.again} />
            <BlockedJobs id={record.id} version={record.jobs} />
          </Pane>
        ),
      }}
    />
  );
}

const RECOVERY_COLUMNS: readonly Column<JobRecovery[number]>[] = [
  {
    id: 'condition',
    head: 'Waits for',
    track: 'minmax(0, 1.4fr)',
    cell: ({ condition }) => <Status look={{ glyph: 'bang', tone: 'warn', word: safeText(word(condition)) }} />,
  },
  {
    id: 'answer',
    head: 'Said last',
    track: 'minmax(0, 1.6fr)',
    wide: true,
    cell: (each) => safeText(each.last_answer ?? '–'),
  },
  { id: 'jobs', head: 'Jobs', track: '60px', end: true, cell: ({ jobs }) => number(jobs) },
  { id: 'tries', head: 'Tries', track: '60px', end: true, wide: true, cell: ({ attempts }) => number(attempts) },
  {
    id: 'since',
    head: 'Since',
    track: '72px',
    end: true,
    cell: ({ since }) => (since === null ? '–' : <Ago at={Date.parse(since)} />),
  },
];

interface BlockedJob {
  readonly job: string;
  readonly message: string;
}

/** Jobs that wait for one thing, those first that have waited longest. */
const SHOWN_JOBS = 20;

function BlockedJobs({ id, version }: { readonly id: string; readonly version: number }) {
  const { api } = signedIn();
  const blocked = useSignal<readonly BlockedJob[]>([]);
  const error = useSignal<ApiError | null>(null);
  useEffect(() => {
    const reading = new AbortController();
    api
      .get<{ readonly blocked: readonly BlockedJob[] }>(`/job-recovery/${encodeURIComponent(id)}`, {}, reading.signal)
      .then(
        ({ body }) => {
          blocked.value = body.blocked;
          error.value = null;
        },
        (thrown) => {
          const failed = apiError(thrown);
          // It has been released meanwhile.
          if (!reading.signal.aborted && failed.status !== 404) error.value = failed;
        },
      );
    return () => reading.abort();
  }, [id, version]);
  if (error.value !== null) return <Failure error={error.value} />;
  return (
    <ul class="lines">
      {blocked.value.slice(0, SHOWN_JOBS).map(({ job, message }) => (
        <li key={job} class="break">
          <a class="mono" href={hrefOf(api.org, { name: 'long-job', id: job })}>
            {job}
          </a>
          <span class="quiet">{safeText(message)}</span>
        </li>
      ))}
      {blocked.value.length > SHOWN_JOBS && <li class="quiet">and {number(blocked.value.length - SHOWN_JOBS)} more</li>}
    </ul>
  );
}
