import { Tabs } from '../parts/tabs.jsx';
import { hrefOf, type Screen } from '../route.js';
import { mayI, signedIn } from '../session/session.js';

const TABS = [
  ['jobs', 'Long jobs', { name: 'long-jobs' }],
  ['recovery', 'Recovery', { name: 'job-works', part: 'recovery' }],
  ['queues', 'Job queues', { name: 'job-works', part: 'queues' }],
  ['workers', 'Workers', { name: 'job-works', part: 'workers' }],
  ['messages', 'Dead letters', { name: 'job-works', part: 'messages' }],
] as const satisfies readonly (readonly [string, string, Screen])[];

export type JobTab = (typeof TABS)[number][0];

/** Jobs, and what works on them, which is for administrators of jobs. */
export function JobTabs({ here }: { readonly here: JobTab }) {
  const { org } = signedIn().api;
  const admin = mayI('job:admin');
  return (
    <Tabs label="Long jobs" chosen={here} bare>
      {TABS.map(([id, word, screen]) =>
        id === 'jobs' || admin.may ? (
          <a key={id} href={hrefOf(org, screen)} aria-current={here === id ? 'true' : undefined}>
            {word}
          </a>
        ) : (
          // biome-ignore lint/a11y/useValidAnchor: it is shown as what it would be, and leads nowhere
          <a key={id} aria-disabled="true" role="link" title={admin.why}>
            {word}
            <span class="unseen">: {admin.why}</span>
          </a>
        ),
      )}
    </Tabs>
  );
}

/** The last part of the name of a job queue, which is what it is called within its organization. */
export function shortQueue(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}
