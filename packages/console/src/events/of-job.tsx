import { Following } from './following.jsx';

/** Events that tell of one job. */
export function selectorOfJob(id: string): string {
  return `job = '${id.replaceAll("'", "''")}'`;
}

/** What happened to a job, as long as events are kept, and what happens. */
export function EventsOfJob({ id }: { readonly id: string }) {
  return (
    <div class="inside stack">
      <Following q={selectorOfJob(id)} from="first" none="No event of it is kept." />
    </div>
  );
}
