import type { EnrolTokens } from '../api/types.gen.js';
import { useReading } from '../live/reading.js';
import { place } from '../navigation.js';
import { Also } from '../parts/also.jsx';
import { Command } from '../parts/command.jsx';
import { Shown } from '../parts/loaded.jsx';
import { plural } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { musterCommand } from '../parts/shell.js';
import { Ago, At } from '../parts/time.jsx';
import { signedIn } from '../session/session.js';
import { TOLD } from './told.js';

/** With which agents enrol. */
export function Tokens() {
  const { api } = signedIn();
  const all = place.value.query.get('all') === 'true';
  const kept = useReading({ key: '', read: (signal) => api.get<EnrolTokens>('/tokens', {}, signal), selector: TOLD });
  const good = ({ expires_at: end, uses_left: uses }: EnrolTokens[number]): boolean =>
    Date.parse(end) > Date.now() && uses > 0;
  return (
    <Shown of={kept} what="enrolment tokens">
      {(tokens) => {
        const shown = tokens.filter((token) => all || good(token));
        return (
          <>
            <Also those="that are used up" all={all} />
            <section class="card">
              {shown.length === 0 ? (
                <div class="empty">
                  <h2>No enrolment token can be used</h2>
                  <p>With a token agents register their own keys. It is good for so many machines, and for a time.</p>
                  <Command text="muster token create --uses 10 --ttl 1h" />
                </div>
              ) : (
                <ul class="lines">
                  {shown.map((token) => (
                    <li key={token.id}>
                      <div class="line wraps">
                        <span class="grow break">
                          <code>{token.id}</code>{' '}
                          <span class="quiet">
                            by {safeText(token.created_by)}, <Ago at={Date.parse(token.created_at)} word=" ago" />
                          </span>
                        </span>
                        <span class="quiet">
                          {good(token) ? `${plural(token.uses_left, 'use')} left, until ` : 'no longer good, '}
                          <At at={Date.parse(token.expires_at)} />
                        </span>
                      </div>
                      {good(token) && <Command text={musterCommand('token', 'rm', token.id)} />}
                    </li>
                  ))}
                </ul>
              )}
            </section>
          </>
        );
      }}
    </Shown>
  );
}
