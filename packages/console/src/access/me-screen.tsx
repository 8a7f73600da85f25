import { Fragment } from 'preact';
import type { Answer } from '../api/client.js';
import { send } from '../api/client.js';
import type { AccessTokens, UserKeys, WhoAmI } from '../api/types.gen.js';
import { useReading } from '../live/reading.js';
import { Card } from '../parts/card.jsx';
import { Command } from '../parts/command.jsx';
import { KeyLines } from '../parts/key-lines.jsx';
import { Shown } from '../parts/loaded.jsx';
import { safeText } from '../parts/safe-text.js';
import { musterCommand } from '../parts/shell.js';
import { Ago, At } from '../parts/time.jsx';
import { reasonOf } from '../session/permissions.js';
import { mayI, signedIn } from '../session/session.js';
import { setSingleKeys, singleKeys } from '../table/keys.js';
import { SessionList } from './sessions.jsx';

interface Known {
  readonly who: WhoAmI;
  readonly keys: UserKeys;
  readonly tokens: AccessTokens;
}

/** Whoever is not told of these by events sees them read again so often. */
const UNTOLD_MS = 15_000;

/** What lets oneself in: keys, tokens, browsers; and what one may do. */
export function MeScreen() {
  const { api, session } = signedIn();
  const told = mayI('org:admin').may;
  const kept = useReading<Known>({
    key: '',
    read: async (signal): Promise<Answer<Known>> => {
      const who = await api.get<WhoAmI>('/whoami', {}, signal);
      const [keys, tokens] = await Promise.all([
        send<UserKeys>('GET', `/users/${encodeURIComponent(session.user)}/keys`, { signal }),
        send<AccessTokens>('GET', '/access_tokens', { signal }),
      ]);
      const own = tokens.body.filter(({ user }) => user === session.user);
      return { ...who, body: { who: who.body, keys: keys.body, tokens: own } };
    },
    selector: told ? "type LIKE 'auth.%'" : null,
    everyMs: told ? null : UNTOLD_MS,
  });
  return (
    <>
      <div class="head">
        <div class="title">
          <h1 class="break">{safeText(session.user)}</h1>
          <p class="quiet">in {session.organization}</p>
        </div>
      </div>
      <div class="two">
        <div class="stack column">
          <Card title="Browsers that are signed in">
            <SessionList whose="own" />
          </Card>
          <Card title="This browser">
            <label class="inside line">
              <input
                type="checkbox"
                class="check"
                checked={singleKeys.value}
                onChange={(event) => setSingleKeys(event.currentTarget.checked)}
              />
              Single keys (turn them off if you dictate)
            </label>
          </Card>
        </div>
        <div class="stack column">
          <Shown of={kept} what="your keys and tokens">
            {({ who, keys, tokens }) => (
              <>
                <Card title="Keys">
                  <KeyLines keys={keys} />
                  <div class="inside stack">
                    <p class="quiet">A key is added and taken away by a request that is signed with one.</p>
                    <Command text={musterCommand('user', 'add-key', session.user, '--public-key', 'new.pub')} />
                  </div>
                </Card>
                <Card title="Access tokens">
                  {tokens.length === 0 ? (
                    <p class="inside quiet">None is good.</p>
                  ) : (
                    <ul class="lines">
                      {tokens.map(({ id, created_at: created, expires_at: end }) => (
                        <li key={id}>
                          <code class="break">{id}</code>
                          <span class="quiet">
                            <Ago at={Date.parse(created)} word=" ago" />, until <At at={Date.parse(end)} />
                          </span>
                          <Command text={musterCommand('access-token', 'rm', id)} />
                        </li>
                      ))}
                    </ul>
                  )}
                  <div class="inside">
                    <Command text="muster access-token create --ttl 1d" />
                  </div>
                </Card>
                <Card title="What you may do">
                  <dl class="facts inside">
                    <dt>groups</dt>
                    <dd>{who.groups.length === 0 ? 'in none' : safeText(who.groups.join(', '))}</dd>
                  </dl>
                  <h3 class="inside">Permissions</h3>
                  <dl class="facts inside">
                    {session.permissions.map(({ permission, by }) => (
                      <Fragment key={permission}>
                        <dt>{permission}</dt>
                        <dd>{safeText(reasonOf(by))}</dd>
                      </Fragment>
                    ))}
                  </dl>
                  <details class="inside">
                    <summary>What you may not do, and who may</summary>
                    <dl class="facts">
                      {session.missing.map(({ permission, holders }) => (
                        <Fragment key={permission}>
                          <dt>{permission}</dt>
                          <dd>{holders}</dd>
                        </Fragment>
                      ))}
                    </dl>
                  </details>
                </Card>
              </>
            )}
          </Shown>
        </div>
      </div>
      <Command text="muster whoami" />
    </>
  );
}
