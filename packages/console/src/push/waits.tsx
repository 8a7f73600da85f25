import type { JobWhy } from '../api/types.gen.js';
import { useReadAgain } from '../live/read-again.js';
import { sentence } from '../parts/note.jsx';
import { Prose } from '../parts/prose.jsx';
import { safeText } from '../parts/safe-text.js';
import { hrefOf } from '../route.js';
import { signedIn } from '../session/session.js';

const WAITING_NODES = 5;

/** What a job that goes on waits for. */
export function Waits({ id, version }: { readonly id: string; readonly version: string }) {
  const { api } = signedIn();
  const { value: why, error } = useReadAgain<JobWhy>({
    ...{ id, version, afterMs: 500 },
    read: (signal) => api.get<JobWhy>(`/pushy/jobs/${id}/why`, { limit: WAITING_NODES }, signal),
  });
  if (error !== null) {
    return <p class="quiet break">Why it is not done could not be read: {safeText(error.message)}.</p>;
  }
  if (why === null) return null;
  return (
    <div class="why-list">
      <h2>Why it is not done</h2>
      {why.why.map((text) => (
        <p key={text} class="break">
          <Prose text={sentence(text)} />
        </p>
      ))}
      <ul class="why-list quiet">
        {why.nodes.map(({ node_name: name, reason }) => (
          <li key={name} class="break">
            <a href={hrefOf(api.org, { name: 'node', node: name })}>{safeText(name)}</a> {safeText(reason)}
          </li>
        ))}
      </ul>
    </div>
  );
}
