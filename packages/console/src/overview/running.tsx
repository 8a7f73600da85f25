import { FINAL_JOB_STATUSES, type Job } from '../api/types.js';
import type { ListedJob, ListedJobs } from '../jobs/read.js';
import { progress } from '../live/job.js';
import { endedLastMinute, type Queue } from '../live/queues.js';
import type { Loaded } from '../live/snapshot.js';
import { Failure, Waiting } from '../parts/note.jsx';
import { number } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { Status } from '../parts/status.jsx';
import { Ago, now } from '../parts/time.jsx';
import { JobBar, JobStatus } from '../push/parts.jsx';
import { hrefOf } from '../route.js';
import { signedIn } from '../session/session.js';
import { longJobLook } from '../statuses/jobs.js';
import { QueueBar, rateText } from '../tasks/parts.jsx';
import type { ReadQueues } from '../tasks/read-queues.js';

interface Props {
  /** The newest push jobs. */
  readonly push: Loaded<readonly Job[]>;
  readonly again: () => void;
  /** Long jobs that have not ended. */
  readonly long: Loaded<ListedJobs>;
  readonly queues: Loaded<ReadQueues>;
}

const SHOWN = 6;

/** What goes on: push jobs, long jobs, and queues whose tasks do. */
export function RunningPanel({ push, again, long, queues }: Props) {
  const { org } = signedIn().api;
  const lines = [
    ...(push.state === 'ready' ? push.value : [])
      .filter(({ status }) => !FINAL_JOB_STATUSES.has(status))
      .map((job) => <JobLine key={job.id} job={job} />),
    ...(long.state === 'ready' ? long.value.jobs : []).map((job) => <LongJobLine key={job.id} job={job} />),
    ...(queues.state === 'ready' ? queues.value.queues : [])
      .filter(({ counts }) => counts.running + counts.claimed > 0)
      .map((queue) => (
        <QueueLine key={queue.id} queue={queue} readAt={queues.state === 'ready' ? queues.value.at : 0} />
      )),
  ];
  return (
    <section class="card">
      <header>
        <h2>Running now</h2>
        <span class="line">
          <a href={hrefOf(org, { name: 'jobs' })}>Push jobs</a>
          <a href={hrefOf(org, { name: 'long-jobs' })}>Long jobs</a>
          <a href={hrefOf(org, { name: 'queues' })}>Task queues</a>
        </span>
      </header>
      {push.state === 'loading' && <Waiting what="push jobs" />}
      {push.state === 'failed' && (
        <div class="inside">
          <Failure error={push.error} again={again} />
        </div>
      )}
      {push.state === 'ready' && lines.length === 0 && <p class="inside quiet">Nothing runs.</p>}
      <ul class="lines">{lines.slice(0, SHOWN)}</ul>
      {lines.length > SHOWN && <p class="inside quiet">and {number(lines.length - SHOWN)} more</p>}
    </section>
  );
}

function LongJobLine({ job }: { readonly job: ListedJob }) {
  const { org } = signedIn().api;
  return (
    <li>
      <div class="line">
        <a class="grow cut" href={hrefOf(org, { name: 'long-job', id: job.id })}>
          {safeText(job.name)}
        </a>
        <Status look={longJobLook(job.status)} />
      </div>
      <div class="line quiet">
        <span class="grow cut">
          {safeText(job.owner)} · <Ago at={Date.parse(job.accepted)} word=" ago" />
        </span>
        <span class="cut">{safeText(job.appId)}</span>
      </div>
    </li>
  );
}

function QueueLine({ queue, readAt }: { readonly queue: Queue; readonly readAt: number }) {
  const { org } = signedIn().api;
  const { queued, blocked, claimed, running } = queue.counts;
  return (
    <li>
      <div class="line">
        <a class="grow cut mono" href={hrefOf(org, { name: 'queue', queue: queue.name })}>
          {safeText(queue.name)}
        </a>
        <span class="quiet number">{rateText(endedLastMinute(queue, now.value - readAt))}</span>
      </div>
      <QueueBar queue={queue} />
      <div class="line quiet number">
        <span class="grow">queue</span>
        {number(queued + blocked + claimed + running)} left
      </div>
    </li>
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
