import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import type { Answer, Api } from '../api/client.js';
import { type ApiError, apiError } from '../api/errors.js';
import type { JobWhy } from '../api/types.gen.js';
import {
  type Counts,
  FINAL_JOB_STATUSES,
  FINAL_NODE_STATUSES,
  isJobNodeStatus,
  JOB_NODE_STATUSES,
  type Job,
  type JobNode,
} from '../api/types.js';
import { Grid } from '../grid/grid.jsx';
import { applyToJob, countNodes, type LiveJob, liveJob, progress } from '../live/job.js';
import { Snapshot, throttled } from '../live/snapshot.js';
import { place, setParameters } from '../navigation.js';
import { Results } from '../output/results.jsx';
import { Viewer } from '../output/viewer.jsx';
import { Action } from '../parts/action.jsx';
import { Command } from '../parts/command.jsx';
import { Dialog } from '../parts/dialog.jsx';
import { clock } from '../parts/duration.js';
import { LinkAction } from '../parts/link-action.jsx';
import { Failure, Note, sentence, Waiting } from '../parts/note.jsx';
import { bytes, number, plural } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { Status } from '../parts/status.jsx';
import { Tabs } from '../parts/tabs.jsx';
import { Ago, now } from '../parts/time.jsx';
import { hrefOf } from '../route.js';
import { mayI, signedIn } from '../session/session.js';
import { JOB_NODE_LOOKS } from '../statuses/push.js';
import { type Column, Table } from '../table/table.jsx';
import { endText, JobBar, JobStatus, shortId } from './parts.jsx';
import { previewed } from './previewed.js';
import { targetText } from './target.js';

const VIEWS = ['grid', 'table', 'results', 'output'] as const;
type View = (typeof VIEWS)[number];

/** Of so many a table says more than a picture. */
const FEW_NODES = 15;
const PAGE = 10_000;
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
      selector: `job = '${id.replaceAll("'", "''")}'`,
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

function jobPath(id: string): string {
  return `/pushy/jobs/${encodeURIComponent(id)}`;
}

/** The job and all its nodes. */
async function readJob(api: Api, id: string, signal?: AbortSignal): Promise<Answer<LiveJob>> {
  const path = jobPath(id);
  const job = await api.get<Job>(path, { detail: true }, signal);
  const nodes: JobNode[] = [];
  let page = await api.get<readonly JobNode[]>(`${path}/nodes`, { limit: PAGE }, signal);
  nodes.push(...page.body);
  while (page.next !== null) {
    page = await api.page<readonly JobNode[]>(page.next, signal);
    nodes.push(...page.body);
  }
  return { body: liveJob(job.body, nodes), position: job.position, next: null };
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
  // As `push rerun --failed` and `--missing` take them.
  const bad = ['failed', 'crashed', 'timed_out', 'aborted'].filter((status) => count(counts, status) > 0);
  const missing = ['nacked', 'unavailable', 'was_ready'].filter((status) => count(counts, status) > 0);
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
            <LinkAction label={`Rerun ${number(sum(counts, bad))} failed …`} may={allowed} href={again(bad)} />
          )}
          {over && missing.length > 0 && (
            <LinkAction label={`Rerun ${number(sum(counts, missing))} missing …`} may={allowed} href={again(missing)} />
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
          <Results id={job.id} version={String(progress(counts).done)} captured={job.capture_output === true} />
        )}
        {view === 'output' && <Output state={state} />}
      </section>
      <Command text={`muster push ${over ? 'status' : 'watch'} ${shortId(job.id)}`} />
      {asking.value && (
        <Dialog title="Abort this job?" onClose={() => (asking.value = false)}>
          <p class="break">
            The command is killed where it runs ({plural(count(counts, 'running'), 'node')}), and started nowhere else.
          </p>
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

const TITLES: Readonly<Record<View, string>> = { grid: 'Grid', table: 'Table', results: 'Results', output: 'Output' };

function count(counts: Counts, status: string): number {
  return isJobNodeStatus(status) ? (counts[status] ?? 0) : 0;
}

function sum(counts: Counts, statuses: readonly string[]): number {
  return statuses.reduce((total, status) => total + count(counts, status), 0);
}

const WAITING_NODES = 5;

/** What a job that goes on waits for. */
function Waits({ id, version }: { readonly id: string; readonly version: string }) {
  const { api } = signedIn();
  const why = useSignal<JobWhy | null>(null);
  useEffect(() => {
    const reading = new AbortController();
    const timer = setTimeout(
      () => {
        api.get<JobWhy>(`/pushy/jobs/${id}/why`, { limit: WAITING_NODES }, reading.signal).then(
          ({ body }) => {
            why.value = body;
          },
          () => {},
        );
      },
      why.value === null ? 0 : 500,
    );
    return () => {
      clearTimeout(timer);
      reading.abort();
    };
  }, [id, version]);
  if (why.value === null) return null;
  return (
    <div class="why-list">
      <h2>Why it is not done</h2>
      {why.value.why.map((text) => (
        <p key={text} class="break">
          {sentence(safeText(text))}
        </p>
      ))}
      <ul class="why-list quiet">
        {why.value.nodes.map(({ node_name: name, reason }) => (
          <li key={name} class="break">
            <a href={hrefOf(api.org, { name: 'node', node: name })}>{safeText(name)}</a> {safeText(reason)}
          </li>
        ))}
      </ul>
    </div>
  );
}

function NodeTable({ job, nodes }: { readonly job: Job; readonly nodes: readonly JobNode[] }) {
  const { api } = signedIn();
  const { query } = place.value;
  const status = query.get('status');
  const group = query.get('group');
  const names = useSignal<ReadonlySet<string> | null>(null);
  const error = useSignal<ApiError | null>(null);
  useEffect(() => {
    names.value = null;
    if (group === null) return;
    api.get<readonly JobNode[]>(`/pushy/jobs/${job.id}/nodes`, { group, limit: PAGE }).then(
      ({ body }) => {
        names.value = new Set(body.map(({ node_name: name }) => name));
      },
      (thrown) => {
        error.value = apiError(thrown);
      },
    );
  }, [group, job.id]);
  const known = status !== null && isJobNodeStatus(status);
  const rows = nodes.filter(
    (node) => (!known || node.status === status) && (group === null || names.value?.has(node.node_name) === true),
  );
  const columns = useMemo(() => columnsOf(api.org), [api.org]);
  return (
    <>
      {(known || group !== null) && (
        <p class="inside line">
          <span class="grow">
            {group !== null
              ? 'Those of one group of results'
              : `Those that are ${JOB_NODE_LOOKS[known ? status : 'new'].word}`}
            : <strong class="number">{number(rows.length)}</strong>
          </span>
          <button type="button" class="button small" onClick={() => setParameters({ status: null, group: null })}>
            Show all
          </button>
        </p>
      )}
      {status !== null && !known && (
        <div class="inside">
          <Note>There is no status {safeText(status)}; all are shown.</Note>
        </div>
      )}
      {error.value !== null && (
        <div class="inside">
          <Failure error={error.value} />
        </div>
      )}
      {rows.length === 0 ? (
        <p class="inside quiet">None.</p>
      ) : (
        <Table
          label="Nodes of the job"
          columns={columns}
          rows={rows}
          keyOf={({ node_name: name }) => name}
          onOpen={({ node_name: name }) =>
            setParameters({ view: 'output', node: name, status: null, group: null }, { replace: false })
          }
        />
      )}
    </>
  );
}

function columnsOf(org: string): readonly Column<JobNode>[] {
  return [
    {
      id: 'node',
      head: 'Node',
      track: 'minmax(0, 1.4fr)',
      cell: ({ node_name: name }) => (
        <a class="mono" tabIndex={-1} href={hrefOf(org, { name: 'node', node: name })}>
          {safeText(name)}
        </a>
      ),
    },
    { id: 'status', head: 'Status', track: '120px', cell: (node) => <Status look={JOB_NODE_LOOKS[node.status]} /> },
    {
      id: 'exit',
      head: 'Exit',
      track: '44px',
      end: true,
      cell: ({ exit_code: exit, signal }) => exit ?? signal ?? '–',
    },
    { id: 'reason', head: 'Reason', track: 'minmax(0, 2fr)', wide: true, cell: ({ reason }) => safeText(reason ?? '') },
    {
      id: 'output',
      head: 'Output',
      track: '90px',
      end: true,
      wide: true,
      cell: ({ stdout_bytes: out, stderr_bytes: err }) =>
        out === null && err === null ? '–' : bytes((out ?? 0) + (err ?? 0)),
    },
    {
      id: 'since',
      head: 'For',
      track: '64px',
      end: true,
      wide: true,
      cell: ({ updated_at: at }) => <Ago at={Date.parse(at)} />,
    },
  ];
}

const STREAMS = ['stdout', 'stderr'] as const;

function Output({ state }: { readonly state: LiveJob }) {
  const { job, nodes, places } = state;
  const { api } = signedIn();
  const { query } = place.value;
  const name = query.get('node') ?? tellingNode(nodes);
  const at = places.get(name ?? '') ?? -1;
  const node = nodes[at];
  if (job.capture_output !== true) {
    return (
      <Inside>
        <p>This job does not keep what its command writes.</p>
      </Inside>
    );
  }
  if (node === undefined || name === undefined) {
    return (
      <Inside>
        <Note>The job has no node {safeText(name ?? '')}.</Note>
      </Inside>
    );
  }
  const ended = FINAL_NODE_STATUSES.has(node.status);
  const written = { stdout: node.stdout_bytes, stderr: node.stderr_bytes };
  // What fails often says why on stderr alone.
  const telling = ended && written.stdout === 0 && (written.stderr ?? 0) > 0 ? 'stderr' : 'stdout';
  const stream = STREAMS.find((each) => each === query.get('stream')) ?? telling;
  return (
    <>
      <div class="output-bar">
        <label class="unseen" for="output-node">
          Node
        </label>
        <select
          id="output-node"
          class="input"
          value={name}
          onChange={(event) => setParameters({ node: event.currentTarget.value, line: null })}
        >
          {near(nodes, at).map(({ node_name: each }) => (
            <option key={each} value={each}>
              {safeText(each)}
            </option>
          ))}
        </select>
        <Status look={JOB_NODE_LOOKS[node.status]} />
        <span class="quiet break">{endText(node)}</span>
        <fieldset class="choices">
          <legend class="unseen">Stream</legend>
          {STREAMS.map((each) => (
            <label key={each} class="chip">
              <input
                type="radio"
                name="stream"
                checked={stream === each}
                onChange={() => setParameters({ stream: each, line: null })}
              />
              {each} {written[each] !== null && <span class="quiet number">{bytes(written[each])}</span>}
            </label>
          ))}
        </fieldset>
      </div>
      <Viewer
        key={`${name} ${stream}`}
        path={api.path(`/pushy/jobs/${job.id}/output/${encodeURIComponent(name)}/${stream}`)}
        fileName={`${shortId(job.id)}-${name}.${stream}`}
        goesOn={!ended && written[stream] !== 0}
      />
    </>
  );
}

/** Whose output is asked for first: of whichever failed, if any did. */
function tellingNode(nodes: readonly JobNode[]): string | undefined {
  return (nodes.find(({ status }) => status === 'failed' || status === 'crashed') ?? nodes[0])?.node_name;
}

/** Those around one: a list of 10,000 is no choice. */
function near(nodes: readonly JobNode[], at: number): readonly JobNode[] {
  const most = 400;
  if (nodes.length <= most) return nodes;
  const from = Math.max(0, at - most / 2);
  return nodes.slice(from, from + most);
}

function Inside({ children }: { readonly children: ComponentChildren }) {
  return <div class="inside">{children}</div>;
}
