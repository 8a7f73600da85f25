import { equals } from '../parts/equals.js';
import { Following } from './following.jsx';

/** Events that tell of one job. */
export function selectorOfJob(id: string): string {
  return equals('job', id);
}

/** What happened to a job, as long as events are kept, and what happens. @param since When it was begun; null: nobody knows. */
export function EventsOfJob({ id, since }: { readonly id: string; readonly since: string | null }) {
  return (
    <div class="inside stack">
      <Following q={selectorOfJob(id)} from={since ?? 'first'} none="No event of it is kept." />
    </div>
  );
}
