import type { ComponentChildren } from 'preact';
import { passes } from '../api/errors.js';
import type { Kept } from '../live/reading.js';
import { Failure, Waiting } from './note.jsx';

/** What was read; until then that it is being read, or why it could not be, with what was read before it in grey. */
export function Shown<State>({
  of,
  what,
  advice,
  children,
}: {
  readonly of: Kept<State>;
  /** `the job`, `runbooks`. */
  readonly what: string;
  /** What else to do about a refusal, as what was read before tells it. */
  readonly advice?: ((before: State) => ComponentChildren) | undefined;
  readonly children: (state: State) => ComponentChildren;
}) {
  const { loaded, refused, again } = of;
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
      return (
        <>
          {refused !== null && (
            <Failure error={refused} again={passes(refused) ? again : undefined}>
              {advice?.(loaded.value)}
            </Failure>
          )}
          <div class={refused === null ? 'current' : 'former'}>{children(loaded.value)}</div>
        </>
      );
  }
}
