import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { type ApiError, apiError } from '../api/errors.js';
import { type Counts, FINAL_JOB_STATUSES, isJobNodeStatus, JOB_NODE_STATUSES, type Job } from '../api/types.js';
import { EventsOfJob, selectorOfJob } from '../events/of-job.jsx';
import { Grid } from '../grid/grid.jsx';
import { applyToJob, countNodes, type LiveJob, progress } from '../live/job.js';
import { Snapshot, throttled } from '../live/snapshot.js';
import { place, setParameters } from '../navigation.js';
import { Results } from '../output/results.jsx';
import { Action } from '../parts/action.jsx';
import { Command } from '../parts/command.jsx';
import { Dialog } from '../parts/dialog.jsx';
import { clock } from '../parts/duration.js';
import { LinkAction } from '../parts/link-action.jsx';
import { Failure, Note, sentence, Waiting } from '../parts/note.jsx';
import { number, plural } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { musterCommand } from '../parts/shell.js';
import { Status } from '../parts/status.jsx';
import { Tabs } from '../parts/tabs.jsx';
import { Ago, now } from '../parts/time.jsx';
import { hrefOf } from '../route.js';
import { mayI, signedIn } from '../session/session.js';
import { JOB_NODE_LOOKS } from '../statuses/push.js';
import { DidNotRun } from './did-not-run.jsx';
import { NodeOutput } from './node-output.jsx';
import { NodeTable } from './node-table.jsx';
import { countsText, JobBar, JobStatus, shortId } from './parts.jsx';
import { previewed } from './previewed.js';
import { DID_NOT_RUN, RAN_BADLY } from './ran.js';
import { jobPath, readJob } from './read.js';
import { targetText } from './target.js';
import { Waits } from './waits.jsx';

const VIEWS = ['grid', 'table', 'results', 'output', 'events'] as const;
type View = (typeof VIEWS)[number];

/** Of so many a table says more than a picture. */
const FEW_NODES = 15;
const AGAIN_MS = 1000;

/** Watch a push job, understand it, repeat it. */
export function JobScreen({ id }: { readonly id: string }) {
  const { api, live } = signedIn();
  const snapshot = useSignal<Snapshot<LiveJob> | null>(null);
  useEffect(() => {
    const again = throttled(AGAIN_MS, () => {
      api.get<Job>(jobPath(id), { detail: true }).then(
        ({ body }) => made.replace((state) => ({ ...state, job: body, stale: false })),
        // Of a job that has ended no other event comes: it is read until it could be.
        () => void made.reload(),
      );
    });
    const made = new Snapshot<LiveJob>({
      live,
      selector: selectorOfJob(id),
      load: (signal) => api.at(() => readJob(api, id, signal)),
      apply: applyToJob,
      onChange: ({ stale }) => {
        if (stale) again.ask();
      },
    });
    snapshot.value = made;
    return () => {
      made.stop();
      again.stop();
    };
  }, [id]);
  const loaded = snapshot.value?.loaded.value ?? { state: 'loading' as const };
  if (loaded.state === 'ready') return <Shown state={loaded.value} snapshot={snapshot.value} />;
  return (
    <>
      <h1>Push job</h1>
      {loaded.state === 'loading' ? (
        <section class="card">
          <Waiting what="the job" />
        </section>
      ) : (
        <>
          <Failure error={loaded.error} again={() => void snapshot.value?.reload()} />
          <p>
            <a href={hrefOf(api.org, { name: 'jobs' })}>All push jobs</a>
          </p>
        </>
      )}
    </>
  );
}

function Shown({ state, snapshot }: { readonly state: LiveJob; readonly snapshot: Snapshot<LiveJob> | null }) {
  const { api } = signedIn();
  const { org } = api;
  const { job, nodes } = state;
  const counts = useMemo(() => countNodes(nodes), [nodes]);
  const { query } = place.value;
  const asked = query.get('view');
  const view = VIEWS.find((each) => each === asked) ?? (nodes.length > FEW_NODES ? 'grid' : 'table');
  const over = FINAL_JOB_STATUSES.has(job.status);
  const error = useSignal<ApiError | null>(null);
  const asking = useSignal(false);
  const foreseen = previewed.value?.id === job.id ? previewed.value.count : null;
  const change = async (path: string, parameters = {}): Promise<void> => {
    try {
      await api.put(`/pushy/jobs/${job.id}/${path}`, parameters);
      error.value = null;
      void snapshot?.reload();
    } catch (thrown) {
      error.value = apiError(thrown);
    }
  };
  const allowed = mayI('push:execute');
  const { batch } = job;
  const held = !over && batch?.hold !== undefined && batch.hold !== null;
  const again = (statuses: readonly string[]) =>
    hrefOf(org, { name: 'new-job' }, { from: job.id, statuses: statuses.join(',') });
  const bad = RAN_BADLY.filter((status) => count(counts, status) > 0);
  const missing = DID_NOT_RUN.filter((status) => count(counts, status) > 0);
  return (
    <>
      <div class="head">
        <div class="title">
          <p>
            <a href={hrefOf(org, { name: 'jobs' })}>Push jobs</a> <span class="quiet mono">{shortId(job.id)}</span>
          </p>
          <h1 class="mono break">{safeText(job.command)}</h1>
          <div class="line quiet">
            <JobStatus job={{ ...job, counts }} badge />
            <span class="number">
              {over ? (
                <>
                  ended <Ago at={Date.parse(job.updated_at)} word=" ago" />
                </>
              ) : (
                clock(now.value - Date.parse(job.created_at))
              )}
            </span>
            <span class="cut">by {safeText(job.created_by)}</span>
            <span class="wide cut">on {targetText(job.target, job.node_count)}</span>
          </div>
        </div>
        <div class="actions">
          {held && (
            <Action
              label="Continue"
              tone="main-action"
              may={allowed}
              onClick={() => void change('continue', { batch: batch?.number, excused: batch?.excused })}
            />
          )}
          {!over && <Action label="Abort …" tone="danger" may={allowed} onClick={() => (asking.value = true)} />}
          {over && bad.length > 0 && (
            <LinkAction label={`Rerun ${countsText(counts, bad)} …`} may={allowed} href={again(bad)} />
          )}
          {over && missing.length > 0 && (
            <LinkAction label={`Rerun ${countsText(counts, missing)} …`} may={allowed} href={again(missing)} />
          )}
          {over && (
            <LinkAction
              label="Rerun all …"
              may={allowed}
              href={again(JOB_NODE_STATUSES.filter((status) => count(counts, status) > 0))}
            />
          )}
        </div>
      </div>
      {error.value !== null && <Failure error={error.value} />}
      {foreseen !== null && foreseen !== job.node_count && (
        <Note>
          The preview said {plural(foreseen, 'node')}; when the job was started, {plural(job.node_count, 'node')}{' '}
          matched.
        </Note>
      )}
      <section class="card">
        <div class="inside stack">
          <JobBar counts={counts} />
          <ul class="choices">
            {JOB_NODE_STATUSES.filter((status) => count(counts, status) > 0).map((status) => (
              <li key={status}>
                <a class="chip" href={hrefOf(org, { name: 'job', id: job.id }, { view: 'table', status })}>
                  <Status look={JOB_NODE_LOOKS[status]} /> <span class="number">{number(count(counts, status))}</span>
                </a>
              </li>
            ))}
          </ul>
          {job.reason !== null && <p class="break">{sentence(safeText(job.reason))}</p>}
          {!over && (
            <Waits id={job.id} version={JSON.stringify([job.status, job.aborting, job.batch, progress(counts)])} />
          )}
        </div>
      </section>
      <section class="card">
        <Tabs label="Views of the job" chosen={view}>
          {VIEWS.map((each) => (
            <a
              key={each}
              href={hrefOf(
                org,
                { name: 'job', id: job.id },
                { view: each, node: each === 'output' ? query.get('node') : null },
              )}
              aria-current={view === each ? 'true' : undefined}
            >
              {TITLES[each]}
            </a>
          ))}
        </Tabs>
        {view === 'grid' && (
          <Grid
            nodes={nodes}
            onOpen={(node) => setParameters({ view: 'output', node: node.node_name }, { replace: false })}
          />
        )}
        {view === 'table' && <NodeTable job={job} nodes={nodes} />}
        {view === 'results' && (
          <>
            <Results id={job.id} version={String(progress(counts).done)} captured={job.capture_output === true} />
            <DidNotRun id={job.id} nodes={nodes} />
          </>
        )}
        {view === 'output' && <NodeOutput state={state} />}
        {view === 'events' && <EventsOfJob key={job.id} id={job.id} since={new Date(job.created_at).toISOString()} />}
      </section>
      <Command
        text={
          view === 'events'
            ? musterCommand('event', 'watch', '--from', 'first', selectorOfJob(job.id))
            : musterCommand('push', over ? 'status' : 'watch', shortId(job.id))
        }
      />
      {asking.value && (
        <Dialog title="Abort this job?" onClose={() => (asking.value = false)}>
          <p class="break">
            The command is killed where it runs ({plural(count(counts, 'running'), 'node')}), and started nowhere else.
          </p>
          <Command text={musterCommand('push', 'abort', job.id)} />
          <form method="dialog" class="actions">
            <button type="submit" class="button">
              Let it run
            </button>
            <button type="submit" class="button danger" onClick={() => void change('abort')}>
              Abort the job
            </button>
          </form>
        </Dialog>
      )}
    </>
  );
}

const TITLES: Readonly<Record<View, string>> = {
  grid: 'Grid',
  table: 'Table',
  results: 'Results',
  output: 'Output',
  events: 'Events',
};

function count(counts: Counts, status: string): number {
  return isJobNodeStatus(status) ? (counts[status] ?? 0) : 0;
}
