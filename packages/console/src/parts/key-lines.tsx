import type { UserKeys } from '../api/types.gen.js';
import { Ago, At } from './time.jsx';

/** Keys of somebody, or of something. */
export function KeyLines({
  keys,
}: {
  readonly keys: readonly Pick<UserKeys[number], 'fingerprint' | 'created_at' | 'expires_at'>[];
}) {
  return (
    <ul class="lines">
      {keys.map(({ fingerprint, created_at: created, expires_at: end }) => (
        <li key={fingerprint}>
          <code class="break">{fingerprint}</code>
          <span class="quiet">
            <Ago at={Date.parse(created)} word=" ago" />
            {end === null ? (
              '; it does not expire'
            ) : (
              <>
                ; until <At at={Date.parse(end)} />
              </>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}
