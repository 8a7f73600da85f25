import { useSignal } from '@preact/signals';
import type { Sessions } from '../api/types.gen.js';
import { useReading } from '../live/reading.js';
import { Action } from '../parts/action.jsx';
import { Command } from '../parts/command.jsx';
import { Confirm } from '../parts/confirm.jsx';
import { Shown } from '../parts/loaded.jsx';
import { plural } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { musterCommand } from '../parts/shell.js';
import { Ago } from '../parts/time.jsx';
import { mayI, signedIn, signOut } from '../session/session.js';

type Session = Sessions[number];

const BEGUN_BY: Readonly<Record<Session['by'], string>> = {
  link: 'a link',
  token: 'an access token',
  password: 'name and password',
  provider: 'an OpenID provider',
};

/** Whoever is not told of sessions by events sees a list that is read again so often. */
const UNTOLD_MS = 10_000;

/** Who is signed in to the console: oneself, or for admins everybody. Each can be signed out. */
export function SessionList({ whose }: { readonly whose: 'own' | 'everybody' }) {
  const { api, session: own } = signedIn();
  const told = mayI('org:admin').may;
  const kept = useReading({
    key: '',
    read: (signal) => api.get<Sessions>('/sessions', {}, signal),
    selector: told ? "type LIKE 'auth.session.%'" : null,
    everyMs: told ? null : UNTOLD_MS,
  });
  const asking = useSignal<readonly Session[] | null>(null);
  const end = async (sessions: readonly Session[]): Promise<void> => {
    const here = sessions.some(({ current }) => current);
    for (const { id } of sessions.filter(({ current }) => !current)) {
      await api.delete(`/sessions/${encodeURIComponent(id)}`);
    }
    // The last one: after it nothing can be asked.
    if (here) await signOut();
    else kept.again();
  };
  return (
    <Shown of={kept} what="sessions">
      {(all) => {
        const sessions = whose === 'own' ? all.filter(({ user }) => user === own.user) : all;
        return (
          <>
            <ul class="lines">
              {sessions.map((session) => (
                <li key={session.id}>
                  <div class="line wraps">
                    <span class="grow break">
                      <strong>{session.current ? 'This browser' : safeText(session.address ?? 'somewhere')}</strong>{' '}
                      <span class="quiet">
                        {whose === 'everybody' && `${safeText(session.user)}, `}
                        by {BEGUN_BY[session.by]}, <Ago at={Date.parse(session.created_at)} word=" ago" />; last seen{' '}
                        <Ago at={Date.parse(session.last_seen_at)} word=" ago" />
                      </span>
                    </span>
                    <Action small label="Sign out …" onClick={() => (asking.value = [session])} />
                  </div>
                </li>
              ))}
            </ul>
            {whose === 'own' && (
              <p class="inside actions">
                <Action label="Sign out everywhere …" tone="danger" onClick={() => (asking.value = sessions)} />
              </p>
            )}
            {asking.value !== null && (
              <Confirm
                title={asking.value.length > 1 ? 'Sign out everywhere?' : 'Sign this browser out?'}
                action={asking.value.length > 1 ? `Sign out ${plural(asking.value.length, 'browser')}` : 'Sign it out'}
                count={asking.value.length}
                onConfirm={() => end(asking.value ?? [])}
                onClose={() => (asking.value = null)}
              >
                <p>
                  {asking.value.some(({ current }) => current)
                    ? 'You are signed out here, too. What you have open there ends at once.'
                    : 'What is open there ends at once.'}
                </p>
                {asking.value.length === 1 && (
                  <Command text={musterCommand('session', 'rm', asking.value[0]?.id ?? '')} />
                )}
              </Confirm>
            )}
          </>
        );
      }}
    </Shown>
  );
}
