import { useSignal } from '@preact/signals';
import { type ApiError, apiError } from '../api/errors.js';
import { Action } from '../parts/action.jsx';
import { Failure } from '../parts/note.jsx';
import { OptionField } from '../parts/option-field.jsx';
import { safeText } from '../parts/safe-text.js';
import type { May } from '../session/permissions.js';
import { signedIn } from '../session/session.js';
import { jobPath, type KnownJob } from './read.js';

const PERMISSIONS = [
  ['READ', 'look at it and its outputs'],
  ['ALL', 'look at it, and share it'],
] as const;

/** Who besides its owner may do something with the job. */
export function Sharing({
  known: { job, shares },
  own,
  again,
}: {
  readonly known: KnownJob;
  /** Whether it is oneself's, or as good. */
  readonly own: May;
  readonly again: () => void;
}) {
  const { api, session } = signedIn();
  const all = ({ read, write, execute }: (typeof shares)[number]['permission']) => read && write && execute;
  const granted = shares.some(({ username, permission: each }) => {
    return (username === session.user || username === 'world') && all(each);
  });
  const may: May = granted ? { may: true } : own;
  const user = useSignal('');
  const permission = useSignal<string>('READ');
  const error = useSignal<ApiError | null>(null);
  const share = async (username: string, what: string): Promise<void> => {
    try {
      await api.post(`${jobPath(job.id)}/pems`, { username, permission: what });
      error.value = null;
      user.value = '';
      again();
    } catch (thrown) {
      error.value = apiError(thrown);
    }
  };
  return (
    <>
      <ul class="lines">
        {shares.map(({ username, permission: { read, write, execute } }) => {
          const given = [...(read ? ['read'] : []), ...(write ? ['write'] : []), ...(execute ? ['execute'] : [])];
          return (
            <li key={username}>
              <div class="line">
                <span class="grow break">
                  <strong>{username === 'world' ? 'everybody in the organization' : safeText(username)}</strong>{' '}
                  <span class="quiet">{username === job.owner ? 'owns it' : given.join(', ')}</span>
                </span>
                {username !== job.owner && (
                  <Action label="Take back" small may={may} onClick={() => void share(username, '')} />
                )}
              </div>
            </li>
          );
        })}
      </ul>
      <form
        class="inside filters"
        onSubmit={(event) => {
          event.preventDefault();
          if (user.value.trim() !== '' && may.may) void share(user.value.trim(), permission.value);
        }}
      >
        <OptionField
          id="share-with"
          label="Share with"
          value={user.value}
          placeholder="alice, or world"
          onValue={(text) => (user.value = text)}
        />
        <div class="field">
          <label for="share-what">who may</label>
          <select
            id="share-what"
            class="input"
            value={permission.value}
            onChange={(event) => {
              permission.value = event.currentTarget.value;
            }}
          >
            {PERMISSIONS.map(([value, what]) => (
              <option key={value} value={value}>
                {what}
              </option>
            ))}
          </select>
        </div>
        <button
          type="submit"
          class="button end"
          aria-disabled={user.value.trim() === '' || !may.may}
          title={may.may ? undefined : may.why}
        >
          Share{!may.may && <span class="unseen">: {may.why}</span>}
        </button>
      </form>
      {error.value !== null && (
        <div class="inside">
          <Failure error={error.value} />
        </div>
      )}
    </>
  );
}
