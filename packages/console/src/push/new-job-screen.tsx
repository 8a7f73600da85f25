import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { type ApiError, apiError } from '../api/errors.js';
import type { CommandCounts, JobPreview, JobStarted } from '../api/types.gen.js';
import type { Job } from '../api/types.js';
import { go, place, setParameters } from '../navigation.js';
import { namesTold, valuesTold } from '../nodes/groups.js';
import { attributeWords } from '../nodes/rows.js';
import { Command } from '../parts/command.jsx';
import { Confirm } from '../parts/confirm.jsx';
import { Failure, Note } from '../parts/note.jsx';
import { plural } from '../parts/numbers.js';
import { OptionField } from '../parts/option-field.jsx';
import { safeText } from '../parts/safe-text.js';
import { faultOf } from '../parts/selector-field.jsx';
import { hrefOf } from '../route.js';
import { mayI, signedIn } from '../session/session.js';
import { Preview, STARTS_NOWHERE, useForeseen } from './foreseen.jsx';
import { previewed } from './previewed.js';
import { jobPath, readJobNodes } from './read.js';
import { leftOut, wishAgain } from './run-again.js';
import { WhereFields } from './where-fields.jsx';
import { whoCan } from './who-can.js';
import { faults, jobBody, previewBody, startCommand, targetOf, type Wish } from './wish.js';
import { addressOf, wishFrom } from './wish-address.js';

/** Above this many nodes the number is typed, as the command line asks (`confirm_above`). */
const CONFIRM_ABOVE = 100;
const COMMANDS = 200;

/** Choose, foresee, run. */
export function NewJobScreen() {
  const { api, store } = signedIn();
  const { query } = place.value;
  const wish = useSignal<Wish>(wishFrom(query));
  const commands = useSignal<CommandCounts['commands']>([]);
  /** Why it is not known which commands nodes take. */
  const unknown = useSignal<ApiError | null>(null);
  const typed = useSignal('');
  const starting = useSignal(false);
  /** What is typed as a search can be read. */
  const typedWell = useSignal(true);
  const asking = useSignal(false);
  const error = useSignal<ApiError | null>(null);
  /** Id of the approval for which it waits. */
  const waits = useSignal<string | null>(null);
  const { value } = wish;
  const { where } = value;
  /** What the address was made by this screen. */
  const own = useRef(location.search);
  const set = (changed: Partial<Wish>): void => {
    wish.value = { ...wish.value, ...changed };
    typed.value = '';
    const address = addressOf(wish.value);
    if (address !== null) setParameters(address);
    own.current = location.search;
  };
  useEffect(() => {
    // Somebody went back, or followed a link to here.
    if (own.current === location.search) return;
    own.current = location.search;
    wish.value = wishFrom(query);
    typedWell.value = true;
    typed.value = '';
    error.value = null;
    waits.value = null;
  }, [query]);
  const lacking = useSignal<ReturnType<typeof leftOut>>(null);
  useFromJob(query.get('from'), query.get('result'), {
    read: (job, where) => {
      set({ ...wishAgain(job), ...where });
      lacking.value = leftOut(job);
    },
    failed: (failed) => (error.value = failed),
  });

  useEffect(() => {
    api.get<CommandCounts>('/pushy/commands', { limit: COMMANDS }).then(
      ({ body }) => {
        commands.value = body.commands.filter(({ pattern }) => pattern === null);
      },
      (thrown) => {
        unknown.value = apiError(thrown);
      },
    );
  }, []);

  const target = targetOf(where);
  const allowed = mayI('push:execute');
  const readable = where.by !== 'search' || (typedWell.value && faultOf(where.query, true) === null);
  const asked = target === null || !readable || !allowed.may ? null : JSON.stringify(previewBody(value, target));
  const fleet = store.fleet.loaded.value;
  const words = fleet.state === 'ready' ? attributeWords(namesTold(fleet.value)) : [];
  const valuesOf = (name: string) => (fleet.state === 'ready' ? valuesTold(fleet.value, name) : []);

  const { foreseen, look } = useForeseen(asked, fleet);
  const wrong = faults(value);
  // What is started is what was foreseen.
  const preview = foreseen.state === 'seen' && foreseen.of === asked ? foreseen.preview : null;
  const nowhere = preview?.quorum.verdict === 'unreachable';
  const most = preview?.count ?? 0;
  const needsCount = most > CONFIRM_ABOVE;
  const ready =
    preview !== null &&
    most > 0 &&
    value.command.trim() !== '' &&
    Object.keys(wrong).length === 0 &&
    (!needsCount || typed.value.replaceAll(/[\s,.]/g, '') === String(most)) &&
    !starting.value &&
    allowed.may;
  const start = async (): Promise<void> => {
    if (!ready || target === null) return;
    starting.value = true;
    waits.value = null;
    try {
      const answer = await api.post<JobStarted | { readonly approval: string }>('/pushy/jobs', jobBody(value, target));
      if ('approval' in answer) {
        waits.value = answer.approval;
        return;
      }
      const { id } = answer;
      previewed.value = { id, count: most };
      go(hrefOf(api.org, { name: 'job', id }));
    } catch (thrown) {
      error.value = apiError(thrown);
    } finally {
      starting.value = false;
    }
  };
  return (
    <>
      <div class="head">
        <div class="title">
          <h1>New push job</h1>
          <p class="quiet">One command on many nodes, now. Nothing runs before you say so.</p>
        </div>
      </div>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          if (ready && nowhere) asking.value = true;
          else void start();
        }}
      >
        <div class="stack">
          <section class="card">
            <header>
              <h2>Where</h2>
            </header>
            <div class="inside stack">
              <WhereFields
                where={where}
                words={words}
                valuesOf={valuesOf}
                onWhere={(next) => set({ where: next })}
                onReadable={(well) => (typedWell.value = well)}
              />
            </div>
          </section>
          <section class="card">
            <header>
              <h2>What</h2>
            </header>
            <div class="inside stack">
              <div class="field">
                <label for="command">Command</label>
                <input
                  id="command"
                  class="input mono"
                  value={value.command}
                  list="commands"
                  placeholder="chef-client"
                  autocomplete="off"
                  autocapitalize="off"
                  spellcheck={false}
                  onInput={(event) => set({ command: event.currentTarget.value })}
                />
                <datalist id="commands">
                  {commands.value.map(({ name }) => (
                    <option key={name} value={name} />
                  ))}
                </datalist>
                <span class="hint">{hintOf(commands.value.length, unknown.value)}</span>
              </div>
              {lacking.value !== null && (
                <Note>
                  The job before had {lacking.value.what}, which this form cannot say. This runs it again with them:
                  <Command text={lacking.value.command} />
                </Note>
              )}
              {value.command === '' && commands.value.length > 0 && (
                <Common commands={commands.value} onChoose={(command) => set({ command })} />
              )}
              <div class="options">
                <OptionField
                  id="quorum"
                  label="Quorum"
                  hint="3 nodes, 0.8 or 80%; all unless given"
                  value={value.quorum}
                  wrong={wrong.quorum}
                  onValue={(quorum) => set({ quorum })}
                />
                <OptionField
                  id="concurrency"
                  label="At once"
                  hint="10 or 25%"
                  value={value.concurrency}
                  wrong={wrong.concurrency}
                  onValue={(concurrency) => set({ concurrency })}
                />
                <OptionField
                  id="failures"
                  label="Most failures"
                  hint="then no more starts"
                  value={value.maxFailures}
                  wrong={wrong.maxFailures}
                  onValue={(maxFailures) => set({ maxFailures })}
                />
                <OptionField
                  id="timeout"
                  label="Run timeout"
                  hint="90 (seconds), 15m or 2h"
                  value={value.timeout}
                  wrong={wrong.timeout}
                  onValue={(timeout) => set({ timeout })}
                />
                <OptionField
                  id="user"
                  label="As user"
                  hint="of the node"
                  value={value.user}
                  onValue={(user) => set({ user })}
                />
                <OptionField
                  id="dir"
                  label="In directory"
                  hint="of the node"
                  value={value.dir}
                  onValue={(dir) => set({ dir })}
                />
              </div>
              <label class="line">
                <input
                  type="checkbox"
                  class="check"
                  checked={value.wait}
                  onChange={(event) => set({ wait: event.currentTarget.checked })}
                />
                Wait for nodes that are busy instead of leaving them out
              </label>
            </div>
          </section>
        </div>
        <div class="stack">
          {allowed.may ? (
            <section class="card" aria-live="polite" aria-busy={foreseen.state === 'looking'}>
              <header>
                <h2>Preview</h2>
                <span class="quiet">nothing is sent yet</span>
              </header>
              {readable ? (
                <Preview
                  foreseen={foreseen}
                  old={preview === null}
                  wish={value}
                  onQuorum={(quorum) => set({ quorum })}
                />
              ) : (
                <p class="inside quiet">What is searched for cannot be read yet.</p>
              )}
            </section>
          ) : (
            <Note>You cannot start push jobs: {allowed.why}.</Note>
          )}
          {waits.value !== null && (
            <p role="status">
              It waits for others to agree: <code>muster approval show {waits.value}</code>. Nothing was started.
            </p>
          )}
          {error.value !== null && <Failure error={error.value} />}
          {needsCount && (
            <div class="field">
              <label for="typed">Type {most} to run on that many nodes</label>
              <input
                id="typed"
                class="input number"
                inputMode="numeric"
                autocomplete="off"
                value={typed.value}
                onInput={(event) => {
                  typed.value = event.currentTarget.value;
                }}
              />
            </div>
          )}
          <div class="actions">
            <button type="submit" class="button main-action" disabled={!ready}>
              {runLabel(preview)}
            </button>
            <button type="button" class="button" disabled={asked === null} onClick={look}>
              Preview again
            </button>
          </div>
        </div>
      </form>
      <Command text={startCommand(readable ? value : { ...value, where: { by: 'search', query: '' } })} />
      {asking.value && preview !== null && (
        <Confirm
          title="Run it anyway?"
          action={preview.approval ? 'Ask for approval' : `Run on ${plural(most, 'node')}`}
          tone="main-action"
          onConfirm={start}
          onClose={() => (asking.value = false)}
        >
          <p>
            {STARTS_NOWHERE} Quorum: {plural(preview.quorum.needed, 'node')} must be ready; {whoCan(preview.quorum)}.
          </p>
        </Confirm>
      )}
    </>
  );
}

/** Three dots: it asks before. */
function runLabel(preview: JobPreview | null): string {
  if (preview === null) return 'Run';
  if (preview.quorum.verdict === 'unreachable') return preview.approval ? 'Ask anyway …' : 'Run anyway …';
  return preview.approval ? 'Ask for approval' : `Run on ${plural(preview.count, 'node')}`;
}

/** What is said of the commands that nodes say they take. */
function hintOf(known: number, unknown: ApiError | null): string {
  if (unknown !== null) return `What nodes take could not be read: ${safeText(unknown.message)}. Each node decides.`;
  if (known === 0) return 'Each node decides whether it takes it.';
  return `${plural(known, 'command')} that nodes say they take ${known === 1 ? 'is' : 'are'} offered as you type.`;
}

/** An earlier job, and the nodes of one of its groups of results. */
function useFromJob(
  from: string | null,
  result: string | null,
  {
    read,
    failed,
  }: {
    readonly read: (job: Job, where: Partial<Pick<Wish, 'where'>>) => void;
    readonly failed: (error: ApiError) => void;
  },
): void {
  const { api } = signedIn();
  useEffect(() => {
    if (from === null || place.peek().query.has('command')) return;
    const leaving = new AbortController();
    const { signal } = leaving;
    const nodes = result === null ? null : readJobNodes(api, from, { group: result }, signal);
    Promise.all([api.get<Job>(jobPath(from), { detail: true }, signal), nodes]).then(
      ([{ body: job }, group]) => {
        if (signal.aborted) return;
        const names = group?.map(({ node_name: name }) => name).join(' ');
        read(job, names === undefined ? {} : { where: { by: 'nodes', names } });
      },
      (thrown) => {
        if (!signal.aborted) failed(apiError(thrown));
      },
    );
    return () => leaving.abort();
  }, [from, result]);
}

const COMMON = 6;

/** Commands that most nodes take, to begin with. */
function Common({
  commands,
  onChoose,
}: {
  readonly commands: CommandCounts['commands'];
  readonly onChoose: (command: string) => void;
}) {
  const most = [...commands].sort((a, b) => b.nodes - a.nodes).slice(0, COMMON);
  return (
    <div class="choices">
      {most.map(({ name, nodes }) => (
        <button key={name} type="button" class="chip" onClick={() => onChoose(name)}>
          <span class="mono">{safeText(name)}</span>
          <span class="quiet number">{plural(nodes, 'node')}</span>
        </button>
      ))}
    </div>
  );
}
