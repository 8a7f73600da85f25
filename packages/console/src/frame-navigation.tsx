import type { Signal } from '@preact/signals';
import { Glyph } from './parts/glyph.jsx';
import { hrefOf, type Screen, type ScreenName } from './route.js';

interface Tab {
  readonly word: string;
  /** After `g`. */
  readonly key: string;
  readonly screen: Screen;
  /** The screens that it stands for. */
  readonly of: readonly ScreenName[];
}

interface Section {
  readonly word: string;
  readonly tabs: readonly Tab[];
}

const SECTIONS: readonly Section[] = [
  {
    word: 'Fleet',
    tabs: [
      { word: 'Overview', key: 'o', screen: { name: 'overview' }, of: ['overview'] },
      { word: 'Nodes', key: 'n', screen: { name: 'nodes' }, of: ['nodes', 'node'] },
      { word: 'Servers', key: 'c', screen: { name: 'servers' }, of: ['servers'] },
    ],
  },
  {
    word: 'Work',
    tabs: [
      { word: 'Push jobs', key: 'p', screen: { name: 'jobs' }, of: ['jobs', 'job', 'new-job'] },
      { word: 'Runbooks', key: 'r', screen: { name: 'runbooks' }, of: ['runbooks', 'runbook'] },
      { word: 'Approvals', key: 'v', screen: { name: 'approvals' }, of: ['approvals'] },
      {
        word: 'Long jobs',
        key: 'j',
        screen: { name: 'long-jobs' },
        of: ['long-jobs', 'new-long-job', 'long-job', 'job-works'],
      },
      {
        word: 'Task queues',
        key: 'q',
        screen: { name: 'queues' },
        of: ['queues', 'queue', 'tasks', 'task', 'balance'],
      },
      { word: 'Schedules', key: 's', screen: { name: 'schedules' }, of: ['schedules'] },
      { word: 'Rules', key: 'l', screen: { name: 'rules' }, of: ['rules'] },
    ],
  },
  {
    word: 'What happens',
    tabs: [
      { word: 'Events', key: 'e', screen: { name: 'events' }, of: ['events'] },
      { word: 'Audit', key: 'a', screen: { name: 'audit' }, of: ['audit'] },
    ],
  },
  {
    word: 'Who',
    tabs: [
      { word: 'Access', key: 'w', screen: { name: 'access', part: 'people' }, of: ['access'] },
      { word: 'You', key: 'm', screen: { name: 'me' }, of: ['me'] },
    ],
  },
];

export const TABS: readonly Tab[] = SECTIONS.flatMap(({ tabs }) => tabs);

export const TITLES: Readonly<Record<ScreenName, string>> = {
  overview: 'Overview',
  nodes: 'Nodes',
  node: 'Node',
  jobs: 'Push jobs',
  job: 'Push job',
  'new-job': 'New push job',
  'long-jobs': 'Long jobs',
  'new-long-job': 'New long job',
  'long-job': 'Long job',
  'job-works': 'Long jobs',
  queues: 'Task queues',
  queue: 'Task queue',
  tasks: 'Tasks',
  task: 'Task',
  balance: 'Balance',
  schedules: 'Schedules',
  rules: 'Rules',
  events: 'Events',
  audit: 'Audit',
  access: 'Access',
  me: 'You',
  runbooks: 'Runbooks',
  runbook: 'Runbook',
  approvals: 'Approvals',
  servers: 'Servers',
};

/** Opens the navigation where there is no room to show it always. */
export function NavigationButton({ open }: { readonly open: Signal<boolean> }) {
  return (
    <button
      type="button"
      class="button plain nav-button"
      aria-expanded={open.value}
      aria-controls="navigation"
      onClick={() => {
        open.value = !open.value;
      }}
    >
      <Glyph name="menu" />
      <span class="unseen">Navigation</span>
    </button>
  );
}

interface Props {
  readonly org: string;
  /** Null: where there is no page. */
  readonly name: ScreenName | null;
  readonly open: Signal<boolean>;
}

export function Navigation({ org, name, open }: Props) {
  return (
    <nav
      class={`nav ${open.value ? 'open' : ''}`}
      id="navigation"
      aria-label="Console"
      onClick={() => {
        open.value = false;
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape') open.value = false;
      }}
    >
      {SECTIONS.map(({ word, tabs }) => (
        <>
          <h2>{word}</h2>
          {tabs.map((tab) => (
            <a
              key={tab.word}
              href={hrefOf(org, tab.screen)}
              title={`g ${tab.key}`}
              aria-current={name !== null && tab.of.includes(name) ? 'page' : undefined}
            >
              {tab.word}
            </a>
          ))}
        </>
      ))}
    </nav>
  );
}
