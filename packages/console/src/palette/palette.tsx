import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { FoundThings, Runbooks } from '../api/types.gen.js';
import { TABS } from '../frame-navigation.jsx';
import { type ListedJobs, readJobs } from '../jobs/read.js';
import { go } from '../navigation.js';
import { Dialog } from '../parts/dialog.jsx';
import { safeText } from '../parts/safe-text.js';
import { hrefOf, type Screen } from '../route.js';
import { signedIn } from '../session/session.js';
import { word } from '../statuses/jobs.js';
import { OWNER_LOOKS } from '../statuses/nodes.js';
import { found, type Goal, joined } from './find.js';
import { goalOf } from './found-goal.js';

const PLACES: readonly (readonly [word: string, screen: Screen])[] = [
  ['New push job', { name: 'new-job' }],
  ['Recovery of jobs', { name: 'job-works', part: 'recovery' }],
  ['Job queues', { name: 'job-works', part: 'queues' }],
  ['Workers of jobs', { name: 'job-works', part: 'workers' }],
  ['Dead letters of jobs', { name: 'job-works', part: 'messages' }],
  ['Groups', { name: 'access', part: 'groups' }],
  ['Node groups', { name: 'access', part: 'node-groups' }],
  ['Enrolment tokens', { name: 'access', part: 'tokens' }],
  ['Sessions', { name: 'access', part: 'sessions' }],
];

/** Until the server is asked for what is typed. */
const PAUSE_MS = 150;
/** Characters that it is asked for. */
const LEAST_SOUGHT = 2;
const MOST_SOUGHT = 100;
const NONE: readonly Goal[] = [];

/** What the server has said of what was sought. */
interface Told {
  readonly of: string;
  readonly goals: readonly Goal[];
  readonly failed: boolean;
}

/** Goes anywhere by a part of its name. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const { api, store } = signedIn();
  const { org } = api;
  const text = useSignal('');
  const here = useSignal(0);
  const runbooks = useSignal<Runbooks>([]);
  const jobs = useSignal<ListedJobs['jobs']>([]);
  const queues = useSignal<readonly { readonly name: string }[]>([]);
  useEffect(() => {
    const reading = new AbortController();
    // What one may not look at is not offered.
    api.get<Runbooks>('/runbooks', {}, reading.signal).then(
      ({ body }) => (runbooks.value = body),
      () => {},
    );
    api.get<readonly { readonly name: string }[]>('/queues', {}, reading.signal).then(
      ({ body }) => (queues.value = body),
      () => {},
    );
    readJobs(api, { q: '', statuses: [], hidden: false }, 1, reading.signal).then(
      ({ body }) => (jobs.value = body.jobs),
      () => {},
    );
    return () => reading.abort();
  }, []);
  const sought = text.value.trim();
  const told = useSignal<Told>({ of: '', goals: NONE, failed: false });
  const asks = sought.length >= LEAST_SOUGHT && sought.length <= MOST_SOUGHT;
  useEffect(() => {
    if (!asks) return;
    const asking = new AbortController();
    const tell = (goals: readonly Goal[], failed: boolean): void => {
      // Something else is sought by now.
      if (!asking.signal.aborted) told.value = { of: sought, goals, failed };
    };
    const later = setTimeout(() => {
      api.get<FoundThings>('/search', { q: sought }, asking.signal).then(
        ({ body }) =>
          tell(
            body.found.map((one) => goalOf(org, one)),
            false,
          ),
        () => tell(NONE, true),
      );
    }, PAUSE_MS);
    return () => {
      clearTimeout(later);
      asking.abort();
    };
  }, [sought]);
  const fleet = store.fleet.loaded.value;
  const recent = store.recent.loaded.value;
  const goals = useMemo((): readonly Goal[] => {
    const screens = [...TABS.map(({ word: name, screen }) => [name, screen] as const), ...PLACES];
    return [
      ...screens.map(([name, screen]) => ({ kind: 'Go to', word: name, href: hrefOf(org, screen) })),
      ...runbooks.value.map(({ name, description }) => ({
        kind: 'Runbook',
        word: name,
        more: description,
        href: hrefOf(org, { name: 'runbook', runbook: name }),
      })),
      ...queues.value.map(({ name }) => ({
        kind: 'Queue',
        word: name,
        href: hrefOf(org, { name: 'queue', queue: name }),
      })),
      ...(recent.state === 'ready' ? recent.value : []).map(({ id, command, status }) => ({
        kind: 'Push job',
        word: command,
        more: word(status),
        href: hrefOf(org, { name: 'job', id }),
      })),
      ...jobs.value.map(({ id, name, status }) => ({
        kind: 'Job',
        word: name,
        more: word(status),
        href: hrefOf(org, { name: 'long-job', id }),
      })),
      ...(fleet.state === 'ready' ? [...fleet.value.values()] : []).map(({ name, owner }) => ({
        kind: 'Node',
        word: name,
        more: OWNER_LOOKS[owner].word,
        href: hrefOf(org, { name: 'node', node: name }),
      })),
    ];
  }, [fleet, recent, runbooks.value, queues.value, jobs.value, org]);
  const answered = told.value.of === sought;
  const more = answered ? told.value.goals : NONE;
  const shown = useMemo(() => joined(found(goals, text.value), more), [goals, more, text.value]);
  const at = Math.min(here.value, shown.length - 1);
  const open = (goal: Goal | undefined): void => {
    if (goal === undefined) return;
    onClose();
    go(goal.href);
  };
  return (
    <Dialog title="Go to" onClose={onClose}>
      <input
        class="input"
        role="combobox"
        aria-label="A screen, node, job, queue or runbook"
        aria-expanded="true"
        aria-controls="palette-goals"
        aria-activedescendant={at < 0 ? undefined : `palette-${at}`}
        placeholder="A screen, node, job, queue or runbook"
        autocomplete="off"
        spellcheck={false}
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          here.value = 0;
        }}
        onKeyDown={(event) => {
          const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
          if (step !== undefined && shown.length > 0) here.value = (at + step + shown.length) % shown.length;
          else if (event.key === 'Enter') open(shown[at]);
          else return;
          event.preventDefault();
        }}
      />
      {shown.length === 0 ? (
        <p class="quiet" role="status">
          {!asks || (answered && !told.value.failed)
            ? 'Nothing is called so.'
            : answered
              ? 'Nothing that this page knows is called so, and the server could not be asked.'
              : 'Looking …'}
        </p>
      ) : (
        <div class="goals" id="palette-goals" role="listbox" aria-label="What was found">
          {shown.map((goal, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the field takes the keys
            // biome-ignore lint/a11y/useFocusableInteractive: the field has the focus
            <div
              key={`${goal.kind} ${goal.href}`}
              id={`palette-${index}`}
              role="option"
              aria-selected={index === at}
              onClick={() => open(goal)}
            >
              <span class="cut grow">{safeText(goal.word)}</span>
              <span class="quiet cut">{safeText(goal.more ?? '')}</span>
              <span class="quiet">{goal.kind}</span>
            </div>
          ))}
        </div>
      )}
    </Dialog>
  );
}
