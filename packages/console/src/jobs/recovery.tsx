import { useSignal } from '@preact/signals';
import type { JobRecovery } from '../api/types.gen.js';
import { Action } from '../parts/action.jsx';
import { Command } from '../parts/command.jsx';
import { Confirm } from '../parts/confirm.jsx';
import { number, plural } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { musterCommand } from '../parts/shell.js';
import { In } from '../parts/time.jsx';
import { mayI, signedIn } from '../session/session.js';

type Record = JobRecovery[number];

/** What blocked jobs wait for: who tests it, how often it did, when it does again, when it gives up. */
export function Recovery({
  recovery,
  again,
  brief = false,
  ended = false,
}: {
  readonly recovery: Record;
  readonly again: () => void;
  /** The rest is said beside it. */
  readonly brief?: boolean;
  /** Shown for a job that has ended: what it waits for is that its program can be ended. */
  readonly ended?: boolean;
}) {
  const { api } = signedIn();
  const asking = useSignal<'test-now' | 'give-up' | null>(null);
  const admin = mayI('job:admin');
  const { id, condition, tester, attempts, last_answer: answer, next_test: next, gives_up: end, jobs } = recovery;
  // Other jobs may wait for the same.
  const killing = ended && jobs === 1;
  const act = async (): Promise<void> => {
    await api.post(`/job-recovery/${encodeURIComponent(id)}/${asking.value}`, {});
    again();
  };
  return (
    <div class="inside stack">
      <dl class="facts">
        {!brief && (
          <>
            <dt>waits for</dt>
            <dd>{safeText(condition)}</dd>
            <dt>tester</dt>
            <dd>
              {safeText(tester)}, not passed {plural(attempts, 'time')}
            </dd>
          </>
        )}
        {!brief && answer !== null && (
          <>
            <dt>it said last</dt>
            <dd>{safeText(answer)}</dd>
          </>
        )}
        <dt>next test</dt>
        <dd>{next === null ? 'its reader has not seen it yet' : <In at={Date.parse(next)} word="in " />}</dd>
        <dt>gives up</dt>
        <dd>{end === null ? 'not for the time alone' : <In at={Date.parse(end)} word="in " />}</dd>
        {!brief && (
          <>
            <dt>jobs that wait</dt>
            <dd>{number(jobs)}</dd>
          </>
        )}
      </dl>
      <div class="actions">
        <Action label="Try now …" may={admin} onClick={() => (asking.value = 'test-now')} />
        <Action label="Give up …" tone="danger" may={admin} onClick={() => (asking.value = 'give-up')} />
      </div>
      {asking.value === 'test-now' && (
        <Confirm
          title="Test it now?"
          action="Test it now"
          tone="main-action"
          onConfirm={act}
          onClose={() => (asking.value = null)}
        >
          <p>
            Whether {safeText(tester)} passes is found out at once. If it does,{' '}
            {killing
              ? 'its program is ended'
              : `${plural(jobs, 'job')} that waited for it ${jobs === 1 ? 'goes' : 'go'} on`}
            .
          </p>
          <Command text={musterCommand('recovery', 'test-now', id)} />
        </Confirm>
      )}
      {asking.value === 'give-up' && (
        <Confirm
          title="Give it up?"
          action={
            killing ? 'Leave its program alone' : jobs === 1 ? 'Let the job fail' : `Let ${plural(jobs, 'job')} fail`
          }
          leave="Go on waiting"
          count={jobs}
          onConfirm={act}
          onClose={() => (asking.value = null)}
        >
          {killing ? (
            <p>The job has ended, and stays as it is. Its program is not ended any more: it may go on where it runs.</p>
          ) : (
            <p>
              {plural(jobs, 'job')} that {jobs === 1 ? 'waits for it fails' : 'wait for it fail'}. That cannot be taken
              back; {jobs === 1 ? 'it' : 'they'} can be resubmitted.
            </p>
          )}
          <Command text={musterCommand('recovery', 'give-up', id)} />
        </Confirm>
      )}
    </div>
  );
}
