import { usePages } from '../live/pages.js';
import { useReading } from '../live/reading.js';
import { go, place, setParameters } from '../navigation.js';
import { Command } from '../parts/command.jsx';
import { Shown } from '../parts/loaded.jsx';
import { Note } from '../parts/note.jsx';
import { number, plural } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { Save } from '../parts/save.jsx';
import { faultOf, SelectorField } from '../parts/selector-field.jsx';
import { musterCommand } from '../parts/shell.js';
import { Status } from '../parts/status.jsx';
import { Ago } from '../parts/time.jsx';
import { hrefOf } from '../route.js';
import { signedIn } from '../session/session.js';
import { hasEnded, isStatus, longJobLook, STATUSES } from '../statuses/jobs.js';
import { type Column, Table } from '../table/table.jsx';
import { JobTabs } from './parts.jsx';
import { type JobFilter, type ListedJob, PAGE, readJobs } from './read.js';
import { ofLongJobs } from './told.js';

/** What searches for jobs know (docs/guide/jobs.md). */
const WORDS = [
  ...['id', 'name', 'owner', 'app', 'system', 'status', 'condition', 'tenantQueue', 'remoteQueue', 'remoteJobId'],
  ...['lastStatusMessage', 'archive', 'nodeCount', 'exitCode', 'blockedCount', 'accepted', 'created', 'ended'],
];

/** Most pages of a list that are kept live. */
const MOST_PAGES = 4;

/** Long jobs, the newest first. */
export function LongJobsScreen() {
  const { query } = place.value;
  const q = query.get('q') ?? '';
  const given = (query.get('status') ?? '').split(',').filter((status) => status !== '');
  const statuses = given.filter(isStatus);
  const hidden = query.get('hidden') === 'true';
  const readable = faultOf(q, true) === null;
  const toggle = (status: string): void => {
    const next = new Set<string>(statuses);
    if (!next.delete(status)) next.add(status);
    setParameters({ status: [...next].join(',') });
  };
  return (
    <>
      <div class="head">
        <div class="title">
          <h1>Long jobs</h1>
        </div>
        <div class="actions">
          <a class="button main-action" href={hrefOf(signedIn().api.org, { name: 'new-long-job' })}>
            New long job
          </a>
        </div>
      </div>
      <JobTabs here="jobs" />
      <div class="filters">
        <div class="grow">
          <SelectorField
            id="long-jobs-filter"
            label="Which jobs"
            value={q}
            placeholder="owner:alice AND app:count*"
            sugar
            words={WORDS}
            onValue={(text) => setParameters({ q: text })}
          />
        </div>
      </div>
      <div class="choices">
        {STATUSES.map((status) => (
          <button
            key={status}
            type="button"
            class="chip"
            aria-pressed={statuses.includes(status)}
            onClick={() => toggle(status)}
          >
            <Status look={longJobLook(status)} />
          </button>
        ))}
        <button
          type="button"
          class="chip"
          aria-pressed={hidden}
          onClick={() => setParameters({ hidden: hidden ? null : 'true' })}
        >
          hidden ones
        </button>
      </div>
      {given.length > statuses.length && (
        <Note>There is no such status as in {safeText(query.get('status') ?? '')}.</Note>
      )}
      {readable && <Jobs q={q} statuses={statuses} hidden={hidden} />}
      <Command text={musterCommand('job', 'list', whereOf(q, statuses), hidden && '--hidden')} />
    </>
  );
}

function whereOf(q: string, statuses: readonly string[]): string | null {
  const status = statuses.map((each) => `status:${each}`).join(' OR ');
  const parts = [...(q.trim() === '' ? [] : [q]), ...(status === '' ? [] : [status])];
  return parts.length === 0
    ? null
    : parts.length === 1
      ? (parts[0] ?? null)
      : parts.map((part) => `(${part})`).join(' AND ');
}

function Jobs({ q, statuses, hidden }: JobFilter) {
  const { api } = signedIn();
  const { org } = api;
  const filter = JSON.stringify([q, statuses, hidden]);
  const pages = usePages(filter);
  const kept = useReading({
    key: `${filter} ${pages.value}`,
    read: (signal) => readJobs(api, { q, statuses, hidden }, pages.value, signal),
    ...ofLongJobs,
  });
  const filtered = q !== '' || statuses.length > 0 || hidden;
  return (
    <Shown of={kept} what="jobs">
      {({ jobs, more }) => (
        <>
          <section class="card">
            {jobs.length === 0 ? (
              <div class="empty">
                <h2>{filtered ? 'No job matches' : 'No job yet'}</h2>
                {filtered ? (
                  <button
                    type="button"
                    class="button"
                    onClick={() => setParameters({ q: null, status: null, hidden: null })}
                  >
                    Show all jobs
                  </button>
                ) : (
                  <>
                    <p>
                      A job is long work that somebody hands over and comes back to: its inputs are staged, its program
                      is run and watched for as long as it takes, its outputs are archived.
                    </p>
                    <Command text="muster system create here --type local --root /srv/jobs --default" />
                    <Command text="muster app create --file count.json" />
                    <Command text="muster job run count-1.0 --input text=texts/hamlet.txt" />
                  </>
                )}
              </div>
            ) : (
              <Table
                label="Jobs"
                columns={columns(org)}
                rows={jobs}
                keyOf={({ id }) => id}
                onOpen={({ id }) => go(hrefOf(org, { name: 'long-job', id }))}
              />
            )}
          </section>
          {jobs.length > 0 && (
            <div class="line">
              <span class="quiet number grow">{plural(jobs.length, 'job')}</span>
              <Save name="jobs" rows={() => jobs} none={false} />
            </div>
          )}
          {more &&
            (pages.value < MOST_PAGES ? (
              <p>
                <button type="button" class="button" onClick={pages.more}>
                  Older jobs
                </button>
              </p>
            ) : (
              <Note>The newest {number(PAGE * MOST_PAGES)} are shown. A filter finds older ones.</Note>
            ))}
        </>
      )}
    </Shown>
  );
}

function columns(org: string): readonly Column<ListedJob>[] {
  return [
    {
      id: 'name',
      head: 'Name',
      track: 'minmax(0, 1.4fr)',
      cell: ({ id, name }) => (
        <a tabIndex={-1} href={hrefOf(org, { name: 'long-job', id })}>
          {safeText(name)}
        </a>
      ),
    },
    {
      id: 'status',
      head: 'Status',
      track: '160px',
      cell: ({ status }) => <Status look={longJobLook(status)} />,
    },
    {
      id: 'condition',
      head: 'Why',
      track: 'minmax(0, 1.6fr)',
      wide: true,
      cell: ({ status, condition, lastStatusMessage: message }) => (
        <span class="quiet" title={condition ?? undefined}>
          {status === 'FAILED' || status === 'BLOCKED' ? safeText(message) : ''}
        </span>
      ),
    },
    { id: 'app', head: 'App', track: '120px', wide: true, cell: ({ appId }) => safeText(appId) },
    { id: 'system', head: 'System', track: '110px', wide: true, cell: ({ systemId }) => safeText(systemId) },
    { id: 'owner', head: 'Owner', track: '90px', wide: true, cell: ({ owner }) => safeText(owner) },
    {
      id: 'at',
      head: 'Since',
      track: '72px',
      end: true,
      cell: ({ status, accepted, ended }) => <Ago at={Date.parse((hasEnded(status) ? ended : accepted) ?? '')} />,
    },
  ];
}
