import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Answer } from '../api/client.js';
import { type ApiError, apiError } from '../api/errors.js';
import type { JobStarted, Runbook, RunbookPreview, Runbooks, RunbookVersions } from '../api/types.gen.js';
import { useReading } from '../live/reading.js';
import { go, place, setParameters } from '../navigation.js';
import { Action } from '../parts/action.jsx';
import { Command } from '../parts/command.jsx';
import { Confirm } from '../parts/confirm.jsx';
import { Shown } from '../parts/loaded.jsx';
import { Failure, Note, Waiting } from '../parts/note.jsx';
import { plural } from '../parts/numbers.js';
import { ParameterField } from '../parts/parameter-field.jsx';
import { safeText } from '../parts/safe-text.js';
import { musterCommand } from '../parts/shell.js';
import { Ago } from '../parts/time.jsx';
import { STARTS_NOWHERE } from '../push/foreseen.jsx';
import { Foresight } from '../push/foresight.jsx';
import { previewed } from '../push/previewed.js';
import { hrefOf } from '../route.js';
import type { May } from '../session/permissions.js';
import { signedIn } from '../session/session.js';
import { faultsOf, parametersBody, parametersOf, parameterWords, startValues } from './parameters.js';

interface Known {
  readonly runbook: Runbook;
  readonly versions: RunbookVersions;
  readonly runnable: boolean;
}

/** One runbook: what it runs, with which parameters, and a run of it that is seen before it is started. */
export function RunbookScreen({ name }: { readonly name: string }) {
  const { api } = signedIn();
  const asked = place.value.query.get('version');
  const path = `/runbooks/${encodeURIComponent(name)}`;
  const kept = useReading<Known>({
    key: `${name} ${asked}`,
    read: async (signal): Promise<Answer<Known>> => {
      const runbook = await api.get<Runbook>(path, { version: asked ?? undefined }, signal);
      const [versions, all] = await Promise.all([
        api.get<RunbookVersions>(`${path}/versions`, {}, signal),
        api.get<Runbooks>('/runbooks', {}, signal),
      ]);
      const runnable = all.body.some((each) => each.name === name && each.runnable);
      return { ...runbook, body: { runbook: runbook.body, versions: versions.body, runnable } };
    },
    selector: "type LIKE 'runbook.%'",
  });
  return (
    <>
      {kept.loaded.state !== 'ready' && <h1 class="break">{safeText(name)}</h1>}
      <Shown of={kept} what="the runbook">
        {(known) => <Known key={known.runbook.version} known={known} />}
      </Shown>
      {kept.loaded.state === 'failed' && (
        <p>
          <a href={hrefOf(api.org, { name: 'runbooks' })}>All runbooks</a>
        </p>
      )}
      <Command text={musterCommand('runbook', 'show', name, ...(asked === null ? [] : ['--version', asked]))} />
    </>
  );
}

function Known({ known: { runbook, versions, runnable } }: { readonly known: Known }) {
  const { api } = signedIn();
  const { org } = api;
  const { name, version, description, author, definition } = runbook;
  const newest = Math.max(...versions.map((each) => each.version));
  const deleting = useSignal(false);
  return (
    <>
      <div class="head">
        <div class="title">
          <p>
            <a href={hrefOf(org, { name: 'runbooks' })}>Runbooks</a>
          </p>
          <h1 class="break">{safeText(name)}</h1>
          <p class="quiet break">{safeText(description)}</p>
        </div>
        <div class="field">
          <label for="runbook-version">Version</label>
          <select
            id="runbook-version"
            class="input"
            value={String(version)}
            onChange={(event) => {
              const { value } = event.currentTarget;
              setParameters({ version: value === String(newest) ? null : value }, { replace: false });
            }}
          >
            {versions.map((each) => (
              <option key={each.version} value={String(each.version)}>
                {each.version}
                {each.version === newest && ', the newest'} by {safeText(each.author)}
              </option>
            ))}
          </select>
        </div>
      </div>
      {version !== newest && <Note>This is not the newest version, which is {newest}.</Note>}
      <div class="form">
        <Run runbook={runbook} newest={newest} runnable={runnable} />
        <section class="card">
          <header>
            <h2>What it is</h2>
            <span class="quiet">
              by {safeText(author)}, <Ago at={Date.parse(runbook.updated_at)} word=" ago" />
            </span>
          </header>
          <div class="inside stack">
            <p class="quiet">Nodes are asked with the rights of {safeText(author)}.</p>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls */}
            <section class="shown tall" aria-label="Definition" tabIndex={0}>
              <pre>{safeText(JSON.stringify(definition, null, 2))}</pre>
            </section>
            <p class="quiet">To change it takes a request that is signed with a key, which no browser has.</p>
            <Command text={musterCommand('runbook', 'update', name, '-f', `${name}.yaml`)} />
            <div class="actions">
              <Action small label="Delete …" tone="danger" onClick={() => (deleting.value = true)} />
            </div>
          </div>
        </section>
      </div>
      {deleting.value && (
        <Confirm
          title={`Delete ${safeText(name)} with ${plural(versions.length, 'version')}?`}
          action="Delete the runbook"
          leave="Leave it"
          onConfirm={async () => {
            await api.delete(`/runbooks/${encodeURIComponent(name)}`);
            go(hrefOf(org, { name: 'runbooks' }));
          }}
          onClose={() => (deleting.value = false)}
        >
          <p>What it has started goes on.</p>
          <Command text={musterCommand('runbook', 'rm', name)} />
        </Confirm>
      )}
    </>
  );
}

interface Asked {
  readonly approval: string;
}

/** After the last letter. */
const MOMENT_MS = 300;

function Run({
  runbook: { name, version, definition },
  newest,
  runnable,
}: {
  readonly runbook: Runbook;
  readonly newest: number;
  readonly runnable: boolean;
}) {
  const { api } = signedIn();
  const { org } = api;
  const parameters = parametersOf(definition);
  const values = useSignal<Readonly<Record<string, string>>>(startValues(parameters));
  const touched = useSignal(false);
  const preview = useSignal<RunbookPreview | null>(null);
  const error = useSignal<ApiError | null>(null);
  const asking = useSignal(false);
  const faults = faultsOf(parameters, values.value);
  const body = { parameters: parametersBody(parameters, values.value), ...(version !== newest && { version }) };
  const path = `/runbooks/${encodeURIComponent(name)}`;
  const ready = faults.size === 0;
  useEffect(() => {
    preview.value = null;
    error.value = null;
    if (!ready || !runnable) return;
    const looking = new AbortController();
    const timer = setTimeout(() => {
      api.post<RunbookPreview>(`${path}/preview`, body, looking.signal).then(
        (seen) => {
          preview.value = seen;
        },
        (thrown: unknown) => {
          if (!looking.signal.aborted) error.value = apiError(thrown);
        },
      );
    }, MOMENT_MS);
    return () => {
      clearTimeout(timer);
      looking.abort();
    };
  }, [JSON.stringify(body), ready, runnable]);
  const seen = preview.value;
  const may: May = !runnable
    ? { may: false, why: 'it does not name you as a runner' }
    : ready
      ? { may: true }
      : { may: false, why: 'a parameter is missing or does not fit' };
  const start = async (): Promise<void> => {
    const started = await api.post<JobStarted | Asked>(`${path}/run`, body);
    if ('approval' in started) {
      go(hrefOf(org, { name: 'approvals' }, { open: started.approval }));
      return;
    }
    previewed.value = seen === null ? null : { id: started.id, count: seen.nodes.length };
    go(hrefOf(org, { name: 'job', id: started.id }));
  };
  const count = seen?.nodes.length ?? 0;
  return (
    <section class="card">
      <header>
        <h2>Run it</h2>
      </header>
      <div class="inside stack">
        {parameters.length === 0 && <p class="quiet">It takes no parameters.</p>}
        {parameters.map((parameter) => (
          <ParameterField
            key={parameter.name}
            parameter={parameter}
            value={values.value[parameter.name] ?? ''}
            wrong={touched.value ? faults.get(parameter.name) : undefined}
            onValue={(value) => {
              touched.value = true;
              values.value = { ...values.value, [parameter.name]: value };
            }}
          />
        ))}
        {error.value !== null && <Failure error={error.value} />}
        {runnable && ready && seen === null && error.value === null && <Waiting what="the preview" />}
        {seen !== null && <Seen preview={seen} />}
        <div class="actions">
          <Action
            label={
              seen === null ? 'Run it …' : seen.approval ? 'Ask for approval …' : `Run on ${plural(count, 'node')} …`
            }
            tone="main-action"
            may={may}
            busy={seen === null}
            onClick={() => (asking.value = true)}
          />
        </div>
        <Command
          text={musterCommand(
            'runbook',
            'run',
            name,
            ...parameterWords(parameters, values.value),
            ...(version === newest ? [] : ['--version', String(version)]),
          )}
        />
      </div>
      {asking.value && seen !== null && (
        <Confirm
          title={seen.approval ? 'Ask for approval?' : `Run ${name}?`}
          action={seen.approval ? 'Ask for it' : `Run on ${plural(count, 'node')}`}
          tone="main-action"
          count={count}
          onConfirm={start}
          onClose={() => (asking.value = false)}
        >
          <p class="mono break">{safeText(seen.command)}</p>
          <p>
            {seen.approval
              ? 'It waits for a second person. What is stored now is exactly what runs then; a query is answered anew.'
              : `On ${plural(count, 'node')}: ${safeText(seen.target)}.`}
          </p>
        </Confirm>
      )}
    </section>
  );
}

function Seen({ preview }: { readonly preview: RunbookPreview }) {
  const { command, target, nodes, refusals, restricted, doubts, quorum } = preview;
  return (
    <>
      <dl class="facts">
        <dt>runs</dt>
        <dd>{safeText(command)}</dd>
        <dt>on</dt>
        <dd>{safeText(target)}</dd>
      </dl>
      <Foresight nodes={nodes} refusals={refusals} doubts={doubts} />
      {restricted.length > 0 && (
        <Note>Its author may not run commands on {plural(restricted.length, 'node')} of these.</Note>
      )}
      {quorum.verdict === 'unreachable' && <Note>{STARTS_NOWHERE}</Note>}
    </>
  );
}
