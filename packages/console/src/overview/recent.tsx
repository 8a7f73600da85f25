import type { ComponentChildren } from 'preact';
import { FINAL_JOB_STATUSES, type Job } from '../api/types.js';
import { type ListedJob, readEndedJobs } from '../jobs/read.js';
import { ofLongJobs } from '../jobs/told.js';
import { useReading } from '../live/reading.js';
import type { Loaded } from '../live/snapshot.js';
import { plural } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { Status } from '../parts/status.jsx';
import { Ago } from '../parts/time.jsx';
import { JobStatus } from '../push/parts.jsx';
import { hrefOf } from '../route.js';
import { signedIn } from '../session/session.js';
import { longJobLook } from '../statuses/jobs.js';

const SHOWN = 6;

/** Push jobs and long jobs that have ended. */
export function RecentPanel({ push }: { readonly push: Loaded<readonly Job[]> }) {
  const { api } = signedIn();
  const { loaded: long } = useReading({
    key: '',
    read: (signal) => readEndedJobs(api, SHOWN, signal),
    ...ofLongJobs,
  });
  const ended = [
    ...(push.state === 'ready' ? push.value : [])
      .filter(({ status }) => FINAL_JOB_STATUSES.has(status))
      .map((job) => ({ at: Date.parse(job.updated_at), line: <PushLine key={job.id} job={job} /> })),
    ...(long.state === 'ready' ? long.value.jobs : []).map((job) => ({
      at: Date.parse(job.ended ?? job.accepted),
      line: <LongLine key={job.id} job={job} />,
    })),
  ].sort((a, b) => b.at - a.at);
  if (ended.length === 0) return null;
  return (
    <section class="card whole">
      <header>
        <h2>Ended last</h2>
      </header>
      <ul class="lines">{ended.slice(0, SHOWN).map(({ line }) => line)}</ul>
    </section>
  );
}

function PushLine({ job }: { readonly job: Job }) {
  const { org } = signedIn().api;
  return (
    <Line at={job.updated_at} by={job.created_by} what={plural(job.node_count, 'node')}>
      <a class="grow cut mono" href={hrefOf(org, { name: 'job', id: job.id })}>
        {safeText(job.command)}
      </a>
      <JobStatus job={job} />
    </Line>
  );
}

function LongLine({ job }: { readonly job: ListedJob }) {
  const { org } = signedIn().api;
  return (
    <Line at={job.ended ?? job.accepted} by={job.owner} what="long job">
      <a class="grow cut" href={hrefOf(org, { name: 'long-job', id: job.id })}>
        {safeText(job.name)}
      </a>
      <Status look={longJobLook(job.status)} />
    </Line>
  );
}

interface LineProps {
  readonly at: string;
  readonly by: string;
  /** How large, or of what kind. */
  readonly what: string;
  /** The link, and how it ended. */
  readonly children: readonly [link: ComponentChildren, status: ComponentChildren];
}

function Line({ at, by, what, children: [link, status] }: LineProps) {
  return (
    <li>
      <div class="line">
        {link}
        <span class="quiet wide cut">{safeText(by)}</span>
        <span class="quiet number">{what}</span>
        {status}
        <span class="quiet wide">
          <Ago at={Date.parse(at)} word=" ago" />
        </span>
      </div>
    </li>
  );
}
