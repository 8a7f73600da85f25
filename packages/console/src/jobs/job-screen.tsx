import { useSignal } from '@preact/signals';
import type { LongJob } from '../api/types.gen.js';
import { EventsOfJob, selectorOfJob } from '../events/of-job.jsx';
import { useReading } from '../live/reading.js';
import { go, place } from '../navigation.js';
import { Action } from '../parts/action.jsx';
import { Command } from '../parts/command.jsx';
import { Confirm } from '../parts/confirm.jsx';
import { clock } from '../parts/duration.js';
import { Glyph } from '../parts/glyph.jsx';
import { Shown } from '../parts/loaded.jsx';
import { Note, sentence } from '../parts/note.jsx';
import { plural } from '../parts/numbers.js';
import { Prose } from '../parts/prose.jsx';
import { safeText } from '../parts/safe-text.js';
import { musterCommand } from '../parts/shell.js';
import { Status } from '../parts/status.jsx';
import { Tabs } from '../parts/tabs.jsx';
import { Ago, now } from '../parts/time.jsx';
import { hrefOf } from '../route.js';
import type { May } from '../session/permissions.js';
import { mayI, signedIn } from '../session/session.js';
import { hasEnded, longJobLook, passedLook, word } from '../statuses/jobs.js';
import { Outputs } from './outputs.jsx';
import { type Phase, phasesOf } from './phases.js';
import { jobPath, type KnownJob, readJob } from './read.js';
import { Recovery } from './recovery.jsx';
import { Sharing } from './sharing.jsx';
import { OF_JOBS, UNTOLD_MS, untold } from './told.js';

const VIEWS = ['history', 'outputs', 'events', 'request', 'sharing'] as const;
const TITLES = {
  history: 'History',
  outputs: 'Outputs',
  events: 'Events',
  request: 'What was asked for',
  sharing: 'Sharing',
} as const;

/** One long job: where it is, what stands in its way, what it wrote. */
export function LongJobScreen({ id }: { readonly id: string }) {
  const { api } = signedIn();
  const kept = useReading({
    key: id,
    read: (signal) => readJob(api, id, signal),
    selector: `${selectorOfJob(id)} AND ${OF_JOBS}`,
    everyMs: UNTOLD_MS,
    untold: ({ job }) => untold(job),
  });
  return (
    <>
      {kept.loaded.state !== 'ready' && <h1>Long job</h1>}
      <Shown of={kept} what="the job">
        {(known) => <Known known={known} again={kept.again} />}
      </Shown>
      {kept.loaded.state === 'failed' && (
        <p>
          <a href={hrefOf(api.org, { name: 'long-jobs' })}>All long jobs</a>
        </p>
      )}
    </>
  );
}

type Act = 'cancel' | 'pause' | 'resume' | 'hide' | 'unhide' | 'resubmit';

function Known({ known, again }: { readonly known: KnownJob; readonly again: () => void }) {
  const { api, session } = signedIn();
  const { org } = api;
  const { job, history, why } = known;
  const admin = mayI('job:admin');
  const own: May =
    session.user === job.owner || admin.may ? { may: true } : { may: false, why: `it is ${job.owner}’s: ${admin.why}` };
  const asking = useSignal<Act | null>(null);
  const { query } = place.value;
  const asked = query.get('view') ?? 'history';
  const view = VIEWS.find((each) => each === asked) ?? 'history';
  const ended = hasEnded(job.status);
  const act = async (name: Act): Promise<void> => {
    const after = await api.post<LongJob>(`${jobPath(job.id)}/${name}?naked=true`, {});
    if (name === 'resubmit') go(hrefOf(org, { name: 'long-job', id: after.id }));
    else again();
  };
  const open: May = ended ? { may: false, why: `it has ended: it is ${word(job.status)}` } : own;
  const begun = Date.parse(job.accepted);
  return (
    <>
      <div class="head">
        <div class="title">
          <p>
            <a href={hrefOf(org, { name: 'long-jobs' })}>Long jobs</a> <span class="quiet mono break">{job.id}</span>
          </p>
          <h1 class="break">{safeText(job.name)}</h1>
          <div class="line quiet">
            <Status look={longJobLook(job.status)} badge />
            <span class="number">
              {ended ? (
                <>
                  ended <Ago at={Date.parse(job.ended ?? '')} word=" ago" />
                </>
              ) : (
                clock(now.value - begun)
              )}
            </span>
            <span class="cut">of {safeText(job.owner)}</span>
            <span class="wide cut">
              {safeText(job.appId)} on {safeText(job.systemId)}
            </span>
            {!job.visible && <span>hidden</span>}
          </div>
        </div>
        <div class="actions">
          {!ended && job.status === 'PAUSED' && (
            <Action label="Resume" tone="main-action" may={own} onClick={() => (asking.value = 'resume')} />
          )}
          {!ended && job.status !== 'PAUSED' && (
            <Action label="Pause …" may={own} onClick={() => (asking.value = 'pause')} />
          )}
          <Action label="Resubmit …" may={own} onClick={() => (asking.value = 'resubmit')} />
          {ended && (
            <Action
              label={job.visible ? 'Hide …' : 'Show in lists …'}
              may={own}
              onClick={() => (asking.value = job.visible ? 'hide' : 'unhide')}
            />
          )}
          <Action label="Cancel …" tone="danger" may={open} onClick={() => (asking.value = 'cancel')} />
        </div>
      </div>
      <section class="card" aria-label="Phases">
        <Phases phases={phasesOf(history)} />
      </section>
      <section class="card">
        <header>
          <h2>{ended ? 'How it ended' : 'Why it is not done'}</h2>
        </header>
        <div class="inside why-list">
          {why.why.map((text) => (
            <p key={text} class="break">
              <Prose text={sentence(text)} />
            </p>
          ))}
          {job.exitCode !== null && <p class="quiet">Its program ended with {job.exitCode}.</p>}
        </div>
        {why.recovery !== null && <Recovery recovery={why.recovery} again={again} brief ended={ended} />}
      </section>
      <section class="card">
        <Tabs label="Views of the job" chosen={view}>
          {VIEWS.map((each) => (
            <a
              key={each}
              href={hrefOf(org, { name: 'long-job', id: job.id }, { view: each })}
              aria-current={view === each ? 'true' : undefined}
            >
              {TITLES[each]}
            </a>
          ))}
        </Tabs>
        {VIEWS.every((each) => each !== asked) && (
          <div class="inside">
            <Note>There is no view {safeText(asked)}; the history is shown.</Note>
          </div>
        )}
        {view === 'history' && <History known={known} />}
        {view === 'outputs' && <Outputs job={job} />}
        {view === 'events' && <EventsOfJob key={job.id} id={job.id} since={job.accepted} />}
        {view === 'request' && <Request job={job} />}
        {view === 'sharing' && <Sharing known={known} own={own} again={again} />}
      </section>
      <Command text={commandOf(view, job, query.get('file'))} />
      {asking.value !== null && (
        <Question
          act={asking.value}
          job={job}
          onConfirm={() => act(asking.value ?? 'cancel')}
          onClose={() => (asking.value = null)}
        />
      )}
    </>
  );
}

function commandOf(view: (typeof VIEWS)[number], { id }: LongJob, file: string | null): string {
  switch (view) {
    case 'history':
      return musterCommand('job', 'history', id);
    case 'outputs':
      return musterCommand('job', 'output', id, file);
    case 'events':
      return musterCommand('event', 'watch', '--from', 'first', selectorOfJob(id));
    case 'request':
      return musterCommand('job', 'show', id);
    case 'sharing':
      return musterCommand('job', 'share', id);
  }
}

interface Asked {
  readonly title: string;
  readonly action: string;
  readonly leave: string;
  readonly tone: 'danger' | 'main-action';
  readonly text: string;
}

const QUESTIONS: Readonly<Record<Act, Asked>> = {
  cancel: {
    title: 'Cancel this job?',
    action: 'Cancel the job',
    leave: 'Let it go on',
    tone: 'danger',
    text: 'Its program is ended, and that is confirmed, before it is stopped. What it has written stays in its work directory.',
  },
  pause: {
    title: 'Pause this job?',
    action: 'Pause the job',
    leave: 'Let it go on',
    tone: 'main-action',
    text: 'It rests where it is. A program that runs already goes on; nobody looks after it until the job is resumed.',
  },
  resume: {
    title: 'Resume this job?',
    action: 'Resume the job',
    leave: 'Not yet',
    tone: 'main-action',
    text: 'It goes on where it was paused.',
  },
  hide: {
    title: 'Hide this job?',
    action: 'Hide the job',
    leave: 'Leave it',
    tone: 'main-action',
    text: 'It is left out of lists, and out of the sight of all but its owner and administrators. It can be shown again.',
  },
  unhide: {
    title: 'Show this job in lists again?',
    action: 'Show the job',
    leave: 'Leave it hidden',
    tone: 'main-action',
    text: 'Those with whom it is shared see it again.',
  },
  resubmit: {
    title: 'Submit this job again?',
    action: 'Submit a new job',
    leave: 'Not now',
    tone: 'main-action',
    text: 'The same request makes another job. This one stays as it is.',
  },
};

function Question({
  act,
  job,
  onConfirm,
  onClose,
}: {
  readonly act: Act;
  readonly job: LongJob;
  readonly onConfirm: () => Promise<void>;
  readonly onClose: () => void;
}) {
  const { title, action, leave, tone, text } = QUESTIONS[act];
  return (
    <Confirm title={title} action={action} leave={leave} tone={tone} onConfirm={onConfirm} onClose={onClose}>
      <p class="break">
        <strong>{safeText(job.name)}</strong>: {text}
      </p>
      <Command text={musterCommand('job', act, job.id)} />
    </Confirm>
  );
}

/** The way of the job on one line, each phase with its time; the one where it is stands out. */
function Phases({ phases }: { readonly phases: readonly Phase[] }) {
  return (
    <ol class="phases">
      {phases.map((phase, index) => (
        <PhaseStep key={`${index} ${phase.status}`} phase={phase} />
      ))}
    </ol>
  );
}

function PhaseStep({ phase: { status, from, ms, description } }: { readonly phase: Phase }) {
  if (from === null) {
    return (
      <li class="ahead">
        <span class="quiet">{word(status)}</span>
        <span class="unseen">not reached</span>
      </li>
    );
  }
  const here = ms === null;
  const look = here ? longJobLook(status) : passedLook(status);
  return (
    <li
      class={`${here ? 'here' : ''} ${status === 'BLOCKED' ? 'blocked' : ''}`}
      aria-current={here ? 'step' : undefined}
      title={description}
    >
      <span class={look.tone}>{look.word}</span>
      <span class="quiet number">
        <Glyph name={look.glyph} tone={look.tone} /> {timeIn(status, ms ?? now.value - from)}
      </span>
    </li>
  );
}

function timeIn(status: string, ms: number): string {
  if (hasEnded(status)) return '';
  return ms < 1000 ? '< 1 s' : clock(ms);
}

function History({ known: { history } }: { readonly known: KnownJob }) {
  return (
    <ul class="lines">
      {[...history].reverse().map(({ status, created, createdBy, description }, index) => (
        <li key={`${created} ${status} ${index}`}>
          <div class="line">
            <span class="quiet number">
              <Ago at={Date.parse(created)} word=" ago" />
            </span>
            <span class="grow break">
              <strong>{word(status)}</strong> <span class="quiet">{safeText(description)}</span>
            </span>
            <span class="quiet wide cut">{safeText(createdBy)}</span>
          </div>
        </li>
      ))}
    </ul>
  );
}

function Request({ job }: { readonly job: LongJob }) {
  const facts: readonly (readonly [string, string | null])[] = [
    ['app', job.appId],
    ['execution system', job.systemId],
    ['job queue', job.tenantQueue],
    ['batch queue', job.remoteQueue],
    ['id there', job.remoteJobId],
    [
      'resources',
      `${plural(job.nodeCount, 'node')}, ${plural(job.processorsPerNode, 'processor')}, ${job.memoryPerNode} GB`,
    ],
    ['at most', `${job.maxHours < 100 ? job.maxHours.toFixed(1) : Math.round(job.maxHours)} h`],
    ['works in', job.workPath],
    ['archived to', job.archive ? `${job.archiveSystem ?? ''}: ${job.archivePath ?? ''}` : 'it is not archived'],
    ['blocked so far', plural(job.blockedCount, 'time')],
  ];
  return (
    <div class="inside stack">
      <Values title="Inputs" values={job.inputs} />
      <Values title="Parameters" values={job.parameters} />
      <h3>Where and how</h3>
      <dl class="facts">
        {facts.flatMap(([name, value]) =>
          value === null
            ? []
            : [
                <>
                  <dt>{name}</dt>
                  <dd>{safeText(value)}</dd>
                </>,
              ],
        )}
      </dl>
    </div>
  );
}

function Values({ title, values }: { readonly title: string; readonly values: Readonly<Record<string, unknown>> }) {
  const entries = Object.entries(values);
  if (entries.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <dl class="facts">
        {entries.map(([name, value]) => (
          <>
            <dt class="break">{safeText(name)}</dt>
            <dd>{safeText(typeof value === 'string' ? value : JSON.stringify(value))}</dd>
          </>
        ))}
      </dl>
    </>
  );
}
