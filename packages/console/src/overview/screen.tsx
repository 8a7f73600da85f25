import { useComputed } from '@preact/signals';
import type { Approvals, Queues } from '../api/types.gen.js';
import { FINAL_JOB_STATUSES, type Job } from '../api/types.js';
import { type ListedJobs, readJobs } from '../jobs/read.js';
import { countOwners, type Fleet, type FleetNode, OWNERS } from '../live/fleet.js';
import { progress } from '../live/job.js';
import { useReading } from '../live/reading.js';
import type { Loaded } from '../live/snapshot.js';
import { AddMachine } from '../nodes/add-machine.jsx';
import { NoNodes } from '../nodes/empty.jsx';
import { Command } from '../parts/command.jsx';
import { Glyph } from '../parts/glyph.jsx';
import { Failure, Waiting } from '../parts/note.jsx';
import { number, plural } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { Status } from '../parts/status.jsx';
import { Ago, now } from '../parts/time.jsx';
import { JobBar, JobStatus } from '../push/parts.jsx';
import { hrefOf } from '../route.js';
import { subjectOf } from '../runbooks/subject.js';
import { mayI, signedIn } from '../session/session.js';
import { OWNER_LOOKS } from '../statuses/nodes.js';

/** Is my fleet well, and what runs? */
export function OverviewScreen() {
  const { store } = signedIn();
  const fleet = store.fleet.loaded;
  const recent = store.recent.loaded;
  const { org } = signedIn().api;
  const none = fleet.value.state === 'ready' && fleet.value.value.size === 0;
  return (
    <>
      <div class="head">
        <div class="title">
          <h1>Overview</h1>
        </div>
        <div class="actions">
          {!none && <AddMachine />}
          <NewJob />
        </div>
      </div>
      {none ? (
        <section class="card">
          <NoNodes />
        </section>
      ) : (
        <div class="panels">
          <FleetPanel loaded={fleet.value} again={() => void store.fleet.reload()} />
          <RunningPanel loaded={recent.value} again={() => void store.recent.reload()} />
          <NeedsPanel fleet={fleet.value} jobs={recent.value} />
          <RecentPanel loaded={recent.value} />
        </div>
      )}
      <Command text={`muster node list --org ${org}`.replace(' --org default', '')} />
    </>
  );
}

export function NewJob() {
  const { org } = signedIn().api;
  const allowed = mayI('push:execute');
  return allowed.may ? (
    <a class="button main-action" href={hrefOf(org, { name: 'new-job' })}>
      New push job
    </a>
  ) : (
    <button type="button" class="button" aria-disabled="true" title={allowed.why}>
      New push job<span class="unseen">: {allowed.why}</span>
    </button>
  );
}

interface PanelProps<State> {
  readonly loaded: Loaded<State>;
  readonly again?: () => void;
}

function FleetPanel({ loaded, again }: PanelProps<Fleet>) {
  const { org } = signedIn().api;
  if (loaded.state !== 'ready') {
    return (
      <section class="card">
        <header>
          <h2>Nodes</h2>
        </header>
        {loaded.state === 'loading' ? (
          <Waiting what="nodes" />
        ) : (
          <div class="inside">
            <Failure error={loaded.error} again={again} />
          </div>
        )}
      </section>
    );
  }
  const nodes = [...loaded.value.values()];
  const counts = countOwners(nodes);
  const newest = nodes.reduce<FleetNode | null>(
    (best, node) => (best === null || node.since > best.since ? node : best),
    null,
  );
  return (
    <section class="card">
      <header>
        <h2>
          <a class="plain-link" href={hrefOf(org, { name: 'nodes' })}>
            {plural(nodes.length, 'node')}
          </a>
        </h2>
        {newest !== null && (
          <span class="quiet cut">
            newest: {safeText(newest.name)} {OWNER_LOOKS[newest.owner].word} <Ago at={newest.since} word=" ago" />
          </span>
        )}
      </header>
      <div class="inside stack">
        <div class="bar" aria-hidden="true">
          {OWNERS.filter((owner) => counts[owner] > 0).map((owner) => (
            <span key={owner} class={OWNER_LOOKS[owner].tone} style={{ flex: String(counts[owner]) }} />
          ))}
        </div>
        <div class="tally">
          {OWNERS.map((owner) => (
            <a key={owner} href={hrefOf(org, { name: 'nodes' }, { owner })}>
              <Status look={OWNER_LOOKS[owner]} />
              <strong>{number(counts[owner])}</strong>
            </a>
          ))}
        </div>
      </div>
    </section>
  );
}

function RunningPanel({ loaded, again }: PanelProps<readonly Job[]>) {
  const { org } = signedIn().api;
  const running = loaded.state === 'ready' ? loaded.value.filter(({ status }) => !FINAL_JOB_STATUSES.has(status)) : [];
  return (
    <section class="card">
      <header>
        <h2>Running now</h2>
        <a href={hrefOf(org, { name: 'jobs' })}>All push jobs</a>
      </header>
      {loaded.state === 'loading' && <Waiting what="push jobs" />}
      {loaded.state === 'failed' && (
        <div class="inside">
          <Failure error={loaded.error} again={again} />
        </div>
      )}
      {loaded.state === 'ready' && running.length === 0 && <p class="inside quiet">Nothing runs.</p>}
      <ul class="lines">
        {running.slice(0, 6).map((job) => (
          <JobLine key={job.id} job={job} />
        ))}
      </ul>
      {running.length > 6 && <p class="inside quiet">and {running.length - 6} more</p>}
    </section>
  );
}

function JobLine({ job }: { readonly job: Job }) {
  const { org } = signedIn().api;
  const { done, total } = progress(job.counts);
  return (
    <li>
      <div class="line">
        <a class="grow cut mono" href={hrefOf(org, { name: 'job', id: job.id })}>
          {safeText(job.command)}
        </a>
        <JobStatus job={job} />
      </div>
      <JobBar counts={job.counts} />
      <div class="line quiet number">
        <span class="grow cut">
          {job.created_by} · <Ago at={Date.parse(job.created_at)} word=" ago" />
        </span>
        {number(done)} of {number(total)} done
      </div>
    </li>
  );
}

interface Need {
  readonly key: string;
  readonly href: string;
  readonly what: string;
  readonly why: string;
  readonly at: number;
  readonly tone: 'warn' | 'bad';
}

/** Nodes in rehab for less than this will mostly come out of it. */
const PATIENCE_MS = 30_000;
const NEEDS = 8;
/** Jobs that ended badly are told of for so long. */
const RECENT_MS = 24 * 3_600_000;

function NeedsPanel({ fleet, jobs }: { readonly fleet: Loaded<Fleet>; readonly jobs: Loaded<readonly Job[]> }) {
  const { api } = signedIn();
  const { loaded: waiting } = useReading({
    key: '',
    read: (signal) => api.get<Approvals>('/approvals', { status: 'pending' }, signal),
    selector: "type LIKE 'approval.%'",
  });
  const { loaded: blocked } = useReading({
    key: '',
    read: (signal) => readJobs(api, { q: '', statuses: ['BLOCKED'], hidden: false }, 1, signal),
    // Others are told of them when they come back to this page.
    selector: mayI('job:admin').may ? "type LIKE 'job.%'" : null,
  });
  const { loaded: queues } = useReading({
    key: '',
    read: (signal) => api.get<Queues>('/queues', {}, signal),
    selector: "type LIKE 'queue.%'",
  });
  const minute = useComputed(() => Math.floor(now.value / 10_000));
  const at = minute.value * 10_000;
  const needs = [
    ...(fleet.state === 'ready' ? nodesInNeed(fleet.value, at) : []),
    ...(jobs.state === 'ready' ? jobsInNeed(jobs.value, at) : []),
    ...(waiting.state === 'ready' ? approvalsInNeed(waiting.value) : []),
    ...(blocked.state === 'ready' ? blockedJobs(blocked.value.jobs) : []),
    ...(queues.state === 'ready' ? pausedQueues(queues.value) : []),
  ].sort((a, b) => b.at - a.at);
  if (fleet.state !== 'ready' && jobs.state !== 'ready') return null;
  return (
    <section class="card whole">
      <header>
        <h2>Needs you{needs.length > 0 && ` (${number(needs.length)})`}</h2>
      </header>
      {needs.length === 0 ? (
        <p class="inside line">
          <Glyph name="check" tone="ok" /> Nothing: no node is in trouble, no recent job failed, none is blocked, and
          nothing waits for an approval.
        </p>
      ) : (
        <ul class="lines">
          {needs.slice(0, NEEDS).map(({ key, href, what, why, at: since, tone }) => (
            <li key={key}>
              <div class="line">
                <Glyph name="bang" tone={tone} />
                <span class="grow break">
                  <a href={href}>{safeText(what)}</a> <span class="quiet">{safeText(why)}</span>
                </span>
                <span class="quiet">
                  <Ago at={since} />
                </span>
              </div>
            </li>
          ))}
        </ul>
      )}
      {needs.length > NEEDS && <p class="inside quiet">and {number(needs.length - NEEDS)} more</p>}
    </section>
  );
}

function nodesInNeed(fleet: Fleet, at: number): Need[] {
  const { org } = signedIn().api;
  return [...fleet.values()]
    .filter(({ owner, since }) => owner === 'down' || (owner === 'rehab' && at - since > PATIENCE_MS))
    .map(({ name, owner, since, reason }) => ({
      key: `node ${name}`,
      href: hrefOf(org, { name: 'node', node: name }),
      what: `${name} ${owner === 'down' ? 'is down' : 'is in rehab'}`,
      why: reason,
      at: since,
      tone: owner === 'down' ? 'bad' : 'warn',
    }));
}

function approvalsInNeed(approvals: Approvals): Need[] {
  const { org } = signedIn().api;
  return approvals.map((approval) => ({
    key: `approval ${approval.id}`,
    href: hrefOf(org, { name: 'approvals' }, { open: approval.id }),
    what: `${subjectOf(approval)} waits for somebody to agree`,
    why: `asked for by ${approval.asked_by}`,
    at: Date.parse(approval.created_at),
    tone: 'warn',
  }));
}

function blockedJobs(jobs: ListedJobs['jobs']): Need[] {
  const { org } = signedIn().api;
  return jobs.map((job) => ({
    key: `job ${job.id}`,
    href: hrefOf(org, { name: 'long-job', id: job.id }),
    what: `${job.name} is blocked`,
    why: job.condition ?? job.lastStatusMessage ?? '',
    at: Date.parse(job.accepted ?? ''),
    tone: 'warn',
  }));
}

function pausedQueues(queues: Queues): Need[] {
  const { org } = signedIn().api;
  return queues.flatMap(({ id, name, state, counts, updated_at: at }): Need[] =>
    state === 'paused' && counts.queued > 0
      ? [
          {
            key: `queue ${id}`,
            href: hrefOf(org, { name: 'queue', queue: name }),
            what: `${name} is paused`,
            why: `${plural(counts.queued, 'task waits', 'tasks wait')}`,
            at: Date.parse(at),
            tone: 'warn',
          },
        ]
      : [],
  );
}

function jobsInNeed(jobs: readonly Job[], at: number): Need[] {
  const { org } = signedIn().api;
  return jobs.flatMap((job): Need[] => {
    const created = Date.parse(job.created_at);
    const href = hrefOf(org, { name: 'job', id: job.id });
    const about = { key: job.id, href, what: job.command };
    const hold = job.batch?.hold;
    if (!FINAL_JOB_STATUSES.has(job.status) && hold !== undefined && hold !== null && hold !== 'pause') {
      return [{ ...about, why: 'is held until somebody continues it', at: created, tone: 'warn' }];
    }
    const failed = (job.counts.failed ?? 0) + (job.counts.crashed ?? 0) + (job.counts.timed_out ?? 0);
    if (at - created > RECENT_MS || !FINAL_JOB_STATUSES.has(job.status)) return [];
    if (job.status === 'complete' && failed === 0) return [];
    if (job.status === 'aborted') return [];
    const why = job.status === 'complete' ? `failed on ${plural(failed, 'node')}` : (job.reason ?? job.status);
    return [{ ...about, why, at: Date.parse(job.updated_at), tone: 'bad' }];
  });
}

function RecentPanel({ loaded }: PanelProps<readonly Job[]>) {
  const { org } = signedIn().api;
  if (loaded.state !== 'ready') return null;
  const ended = loaded.value.filter(({ status }) => FINAL_JOB_STATUSES.has(status)).slice(0, 6);
  if (ended.length === 0) return null;
  return (
    <section class="card whole">
      <header>
        <h2>Ended last</h2>
      </header>
      <ul class="lines">
        {ended.map((job) => (
          <li key={job.id}>
            <div class="line">
              <a class="grow cut mono" href={hrefOf(org, { name: 'job', id: job.id })}>
                {safeText(job.command)}
              </a>
              <span class="quiet wide cut">{job.created_by}</span>
              <span class="quiet number">{plural(job.node_count, 'node')}</span>
              <JobStatus job={job} />
              <span class="quiet wide">
                <Ago at={Date.parse(job.updated_at)} word=" ago" />
              </span>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}
