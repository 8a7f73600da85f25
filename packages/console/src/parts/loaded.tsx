import type { ComponentChildren } from 'preact';
import type { Kept } from '../live/reading.js';
import { Failure, Waiting } from './note.jsx';

/** What was read; until then that it is being read, or why it could not be. */
export function Shown<State>({
  of,
  what,
  children,
}: {
  readonly of: Kept<State>;
  /** `the job`, `runbooks`. */
  readonly what: string;
  readonly children: (state: State) => ComponentChildren;
}) {
  const { loaded, again } = of;
  switch (loaded.state) {
    case 'loading':
      return (
        <section class="card">
          <Waiting what={what} />
        </section>
      );
    case 'failed':
      return <Failure error={loaded.error} again={again} />;
    case 'ready':
      return <>{children(loaded.value)}</>;
  }
}
