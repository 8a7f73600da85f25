import { type Signal, useSignal } from '@preact/signals';
import type { TargetedInputEvent } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { OfferedSignIns } from '../api/types.gen.js';
import type { SessionPreview } from '../api/types.js';
import { place } from '../navigation.js';
import { useAttempt } from '../parts/attempt.js';
import { Command } from '../parts/command.jsx';
import { Failure, Note } from '../parts/note.jsx';
import { safeText } from '../parts/safe-text.js';
import icon from '../style/icon.svg';
import { whyFailed } from './failed.js';
import { failureOf, secretOf } from './link.js';
import { begin, leaveFor, offeredBy, previewLink, resume } from './session.js';

/** How somebody has come to the page. */
export interface Arrival {
  /** The secret of a link that signs in. */
  readonly link: string | null;
  /** Why a provider led them back in vain: a code of the error table. */
  readonly failed: string | null;
}

/** Takes it out of the URL, and out of the history. */
export function takeArrival(): Arrival {
  const { hash, pathname, search } = location;
  if (hash.startsWith('#sign-in')) history.replaceState(null, '', pathname + search);
  return { link: secretOf(hash), failed: failureOf(hash) };
}

interface Props extends Arrival {
  /** Why somebody is signed out who was signed in. */
  readonly why: string | null;
  /** They have asked for it. */
  readonly done: boolean;
}

export function SignInScreen({ link, failed, why, done }: Props) {
  const usable = useSignal(link);
  useEffect(() => {
    document.title = 'Sign in · Muster';
  }, []);
  return (
    <main class="sign-in">
      <div>
        <h1 class="brand">
          <img src={icon} alt="" width={36} height={36} /> Muster
        </h1>
        {why !== null && <Note tone={done ? 'ok' : 'warn'}>{why}</Note>}
        {failed !== null && <Note tone="bad">{whyFailed(failed)}</Note>}
        {usable.value !== null ? (
          <ByLink
            link={usable.value}
            onOther={() => {
              usable.value = null;
              void resume();
            }}
          />
        ) : (
          <WithoutLink />
        )}
      </div>
    </main>
  );
}

/** Who opens a link says so once more: a link that somebody else sent would sign in as them. */
function ByLink({ link, onOther }: { readonly link: string; readonly onOther: () => void }) {
  const preview = useSignal<SessionPreview | null>(null);
  const { busy, error, attempt } = useAttempt();
  useEffect(() => {
    void attempt(async () => {
      preview.value = await previewLink(link);
    });
  }, [link]);
  if (error.value !== null) {
    return (
      <div class="stack">
        <Failure error={error.value} />
        <p>A link is good once, and for a minute. Make another one:</p>
        <Command text="muster console" />
        <p>
          <button type="button" class="button" onClick={onOther}>
            Sign in otherwise
          </button>
        </p>
      </div>
    );
  }
  if (preview.value === null) {
    return (
      <p class="waiting" role="status">
        Looking at the link …
      </p>
    );
  }
  const { user, organization } = preview.value;
  return (
    <form
      class="card"
      onSubmit={(event) => {
        event.preventDefault();
        void attempt(() => begin({ link }));
      }}
    >
      <div class="inside stack">
        <h2>Sign in as {user}?</h2>
        <dl class="who">
          <dt>User</dt>
          <dd>{user}</dd>
          <dt>Organization</dt>
          <dd>{organization}</dd>
        </dl>
        <p class="quiet">Only if you have just run muster console, or asked for this link, yourself.</p>
        <div class="actions">
          <button type="submit" class="button main-action" disabled={busy.value}>
            Sign in as {user}
          </button>
          <button type="button" class="button" onClick={onOther}>
            No
          </button>
        </div>
      </div>
    </form>
  );
}

function WithoutLink() {
  // Whoever was somewhere in an organization, or comes back from its provider, goes on there.
  const known = place.value.org !== null;
  return (
    <div class="stack">
      {known && <AtWork />}
      <section class="card">
        <div class="inside stack">
          <h2>{known ? 'Or from the command line' : 'Sign in'}</h2>
          <p>Where you use the command line, this opens the console for you, signed in with your key:</p>
          <Command text="muster console" />
        </div>
      </section>
      <ByToken />
      {!known && <AtWork />}
    </div>
  );
}

function ByToken() {
  const token = useSignal('');
  const { busy, error, attempt } = useAttempt();
  const sign = async (): Promise<void> => {
    if (token.value.trim() === '') return;
    await attempt(() => begin({ token: token.value.trim() }));
    token.value = '';
  };
  return (
    <form
      class="card"
      onSubmit={(event) => {
        event.preventDefault();
        void sign();
      }}
    >
      <div class="inside stack">
        <div class="field">
          <label for="token">Or with an access token</label>
          <input
            id="token"
            class="input mono"
            type="password"
            autocomplete="off"
            value={token.value}
            onInput={(event) => {
              token.value = event.currentTarget.value;
            }}
          />
          <span class="hint">
            From <code>muster access-token create</code>. The session ends with it.
          </span>
        </div>
        {error.value !== null && <Failure error={error.value} />}
        <div class="actions">
          <button type="submit" class="button" disabled={busy.value}>
            Sign in with the token
          </button>
        </div>
      </div>
    </form>
  );
}

/** At a provider or a directory of the organization: which there are is asked first. */
function AtWork() {
  const organization = useSignal(place.value.org ?? '');
  const offered = useSignal<OfferedSignIns | null>(null);
  const { busy, error, attempt } = useAttempt();
  /** What was asked for is where somebody goes on; the button that asked is gone. */
  const offers = useRef<HTMLDivElement>(null);
  const asked = useRef(false);
  /** As it is drawn: a button that is not to be pressed takes no focus. */
  const waits = busy.value;
  useEffect(() => {
    if (!asked.current || waits || offered.value === null) return;
    asked.current = false;
    const first = offers.current?.querySelector<HTMLElement>('button, select, input');
    (first ?? document.getElementById('organization'))?.focus();
  }, [offered.value, waits]);
  const look = (): Promise<void> =>
    attempt(async () => {
      const named = organization.value.trim();
      const found = await offeredBy(named);
      if (organization.value.trim() === named) offered.value = found;
    });
  useEffect(() => {
    if (organization.value !== '') void look();
  }, []);
  const named = organization.value.trim();
  const providers = offered.value?.filter(({ kind }) => kind === 'oidc') ?? [];
  const directories = offered.value?.filter(({ kind }) => kind === 'ldap') ?? [];
  return (
    <section class="card">
      <div class="inside stack">
        <h2>{place.value.org === null ? 'Or by single sign-on' : 'Single sign-on'}</h2>
        {offered.value === null && (
          <p class="quiet">Where your organization has an OpenID provider or a directory (LDAP).</p>
        )}
        <form
          onSubmit={(event) => {
            event.preventDefault();
            asked.current = true;
            void look();
          }}
        >
          <Field
            id="organization"
            label="Organization"
            value={organization}
            autocomplete="organization"
            onChange={() => {
              offered.value = null;
            }}
          />
          {offered.value === null && (
            <div class="actions">
              <button type="submit" class="button" disabled={busy.value}>
                Continue
              </button>
            </div>
          )}
        </form>
        <div class="stack" ref={offers}>
          {providers.map(({ name }) => (
            <div class="actions" key={name}>
              <button
                type="button"
                class="button main-action"
                disabled={busy.value}
                onClick={() => void attempt(() => leaveFor(named, name))}
              >
                Sign in with {safeText(name)}
              </button>
            </div>
          ))}
          {error.value !== null && <Failure error={error.value} />}
          {offered.value?.length === 0 && (
            <p class="quiet" role="status">
              Single sign-on is not set up for {safeText(named)}. Its administrators set it up:{' '}
              <code>muster issuer create</code>
            </p>
          )}
          {directories.length > 0 && (
            <ByPassword organization={named} directories={directories.map(({ name }) => name)} />
          )}
        </div>
      </div>
    </section>
  );
}

/** At a directory, which only the server asks: the password is sent to it, and kept nowhere. */
function ByPassword({
  organization,
  directories,
}: {
  readonly organization: string;
  readonly directories: readonly string[];
}) {
  const user = useSignal('');
  const password = useSignal('');
  const issuer = useSignal(directories[0] ?? '');
  const { busy, error, attempt } = useAttempt();
  const sign = async (): Promise<void> => {
    const who = { user: user.value.trim(), password: password.value };
    await attempt(() => begin({ organization, issuer: issuer.value, ...who }));
    password.value = '';
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void sign();
      }}
    >
      {directories.length > 1 && (
        <div class="field">
          <label for="issuer">Directory</label>
          <select
            id="issuer"
            class="input"
            value={issuer.value}
            onChange={(event) => {
              issuer.value = event.currentTarget.value;
            }}
          >
            {directories.map((name) => (
              <option key={name} value={name}>
                {safeText(name)}
              </option>
            ))}
          </select>
        </div>
      )}
      <Field id="user" label="Name" value={user} autocomplete="username" />
      <Field id="password" label="Password" value={password} secret autocomplete="current-password" />
      {error.value !== null && <Failure error={error.value} />}
      <div class="actions">
        <button type="submit" class="button" disabled={busy.value}>
          Sign in with the password
        </button>
      </div>
    </form>
  );
}

interface FieldProps {
  readonly id: string;
  readonly label: string;
  readonly value: Signal<string>;
  /** What is typed is not shown. */
  readonly secret?: boolean;
  readonly autocomplete?: string;
  readonly onChange?: () => void;
}

function Field({ id, label, value, secret = false, autocomplete = 'off', onChange }: FieldProps) {
  const onInput = (event: TargetedInputEvent<HTMLInputElement>): void => {
    value.value = event.currentTarget.value;
    onChange?.();
  };
  const input = { id, class: 'input', autocomplete, required: true, value: value.value, onInput };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {secret ? <input {...input} type="password" /> : <input {...input} type="text" />}
    </div>
  );
}
