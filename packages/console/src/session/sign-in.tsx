import { type Signal, useSignal } from '@preact/signals';
import type { TargetedInputEvent } from 'preact';
import { useEffect } from 'preact/hooks';
import { type ApiError, apiError } from '../api/errors.js';
import type { SessionPreview } from '../api/types.js';
import { Command } from '../parts/command.jsx';
import { Failure, Note } from '../parts/note.jsx';
import icon from '../style/icon.svg';
import { secretOf } from './link.js';
import { begin, previewLink, resume } from './session.js';

/** Takes the secret of a link out of the URL, and out of the history. */
export function takeSecret(): string | null {
  const secret = secretOf(location.hash);
  if (location.hash.startsWith('#sign-in')) history.replaceState(null, '', location.pathname + location.search);
  return secret;
}

export function SignInScreen({ link, why }: { readonly link: string | null; readonly why: string | null }) {
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
        {why !== null && <Note>{why}</Note>}
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
  const error = useSignal<ApiError | null>(null);
  const busy = useSignal(false);
  useEffect(() => {
    previewLink(link).then(
      (shown) => {
        preview.value = shown;
      },
      (thrown) => {
        error.value = apiError(thrown);
      },
    );
  }, [link]);
  const sign = async (): Promise<void> => {
    busy.value = true;
    try {
      await begin({ link });
    } catch (thrown) {
      error.value = apiError(thrown);
      preview.value = null;
    } finally {
      busy.value = false;
    }
  };
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
        void sign();
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
        <p class="quiet">Only if you have just run muster console yourself.</p>
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
  const token = useSignal('');
  const error = useSignal<ApiError | null>(null);
  const busy = useSignal(false);
  const sign = async (): Promise<void> => {
    if (token.value.trim() === '') return;
    busy.value = true;
    error.value = null;
    try {
      await begin({ token: token.value.trim() });
    } catch (thrown) {
      error.value = apiError(thrown);
    } finally {
      token.value = '';
      busy.value = false;
    }
  };
  return (
    <div class="stack">
      <section class="card">
        <div class="inside stack">
          <h2>Sign in</h2>
          <p>Where you use the command line, this opens the console for you, signed in with your key:</p>
          <Command text="muster console" />
        </div>
      </section>
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
      <ByPassword />
    </div>
  );
}

/** At a directory, which only the server asks: the password is sent to it, and kept nowhere. */
function ByPassword() {
  const organization = useSignal('');
  const user = useSignal('');
  const password = useSignal('');
  const issuer = useSignal('');
  /** Directories, so that it has to be said which. */
  const several = useSignal(false);
  const error = useSignal<ApiError | null>(null);
  const busy = useSignal(false);
  const sign = async (): Promise<void> => {
    busy.value = true;
    error.value = null;
    const at = issuer.value.trim();
    try {
      await begin({
        ...{ organization: organization.value.trim(), user: user.value.trim(), password: password.value },
        ...(at !== '' && { issuer: at }),
      });
    } catch (thrown) {
      error.value = apiError(thrown);
      if (error.value.code === 'sign_in_unclear') several.value = true;
    } finally {
      password.value = '';
      busy.value = false;
    }
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
        <h2>Or as at work</h2>
        <p class="quiet">With your name and password, where your organization has a directory (LDAP).</p>
        <Field id="organization" label="Organization" value={organization} autocomplete="organization" />
        {several.value && <Field id="issuer" label="Directory" value={issuer} />}
        <Field id="user" label="Name" value={user} autocomplete="username" />
        <Field id="password" label="Password" value={password} secret autocomplete="current-password" />
        {error.value !== null && <Failure error={error.value} />}
        <div class="actions">
          <button type="submit" class="button" disabled={busy.value}>
            Sign in with the password
          </button>
        </div>
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
}

function Field({ id, label, value, secret = false, autocomplete = 'off' }: FieldProps) {
  const onInput = (event: TargetedInputEvent<HTMLInputElement>): void => {
    value.value = event.currentTarget.value;
  };
  const input = { id, class: 'input', autocomplete, required: true, value: value.value, onInput };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {secret ? <input {...input} type="password" /> : <input {...input} type="text" />}
    </div>
  );
}
