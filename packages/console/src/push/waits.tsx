import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { type ApiError, apiError } from '../api/errors.js';
import type { JobWhy } from '../api/types.gen.js';
import { sentence } from '../parts/note.jsx';
import { safeText } from '../parts/safe-text.js';
import { hrefOf } from '../route.js';
import { signedIn } from '../session/session.js';

const WAITING_NODES = 5;

/** What a job that goes on waits for. */
export function Waits({ id, version }: { readonly id: string; readonly version: string }) {
  const { api } = signedIn();
  const why = useSignal<JobWhy | null>(null);
  const error = useSignal<ApiError | null>(null);
  useEffect(() => {
    const reading = new AbortController();
    const timer = setTimeout(
      () => {
        api.get<JobWhy>(`/pushy/jobs/${id}/why`, { limit: WAITING_NODES }, reading.signal).then(
          ({ body }) => {
            why.value = body;
            error.value = null;
          },
          (thrown) => {
            if (!reading.signal.aborted) error.value = apiError(thrown);
          },
        );
      },
      why.value === null ? 0 : 500,
    );
    return () => {
      clearTimeout(timer);
      reading.abort();
    };
  }, [id, version]);
  if (error.value !== null) {
    return <p class="quiet break">Why it is not done could not be read: {safeText(error.value.message)}.</p>;
  }
  if (why.value === null) return null;
  return (
    <div class="why-list">
      <h2>Why it is not done</h2>
      {why.value.why.map((text) => (
        <p key={text} class="break">
          {sentence(safeText(text))}
        </p>
      ))}
      <ul class="why-list quiet">
        {why.value.nodes.map(({ node_name: name, reason }) => (
          <li key={name} class="break">
            <a href={hrefOf(api.org, { name: 'node', node: name })}>{safeText(name)}</a> {safeText(reason)}
          </li>
        ))}
      </ul>
    </div>
  );
}
