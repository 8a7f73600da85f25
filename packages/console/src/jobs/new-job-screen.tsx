import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { type ApiError, apiError } from '../api/errors.js';
import type { LongJob } from '../api/types.gen.js';
import { useReading } from '../live/reading.js';
import { go, place, setParameters } from '../navigation.js';
import { Action } from '../parts/action.jsx';
import { Command } from '../parts/command.jsx';
import { Shown } from '../parts/loaded.jsx';
import { Failure, Waiting } from '../parts/note.jsx';
import { OptionField } from '../parts/option-field.jsx';
import { ParameterField } from '../parts/parameter-field.jsx';
import { safeText } from '../parts/safe-text.js';
import { musterCommand } from '../parts/shell.js';
import { hrefOf } from '../route.js';
import { faultsOf, startValues } from '../runbooks/parameters.js';
import type { May } from '../session/permissions.js';
import { mayI, signedIn } from '../session/session.js';
import { type AppArguments, fieldsOf, type JobForm, runWords, submissionOf } from './app-fields.js';

interface ListedApp {
  readonly id: string;
  readonly name: string;
  readonly label: string;
}

interface App extends AppArguments {
  readonly id: string;
  readonly name: string;
  readonly label: string;
  readonly shortDescription: string;
  readonly longDescription: string;
  readonly executionSystem: string | null;
}

/** Most apps that are offered. */
const MOST = 250;

/** A new long job: an app, and what it asks for. */
export function NewLongJobScreen() {
  const { api } = signedIn();
  const kept = useReading<readonly ListedApp[]>({
    key: 'apps',
    selector: null,
    read: (signal) => api.get('/apps/v2', { naked: true, limit: MOST }, signal),
  });
  const chosen = place.value.query.get('app') ?? '';
  return (
    <>
      <div class="head">
        <div class="title">
          <p>
            <a href={hrefOf(api.org, { name: 'long-jobs' })}>Long jobs</a>
          </p>
          <h1>New long job</h1>
          <p class="quiet">Long work that is handed over: its inputs are staged, it is run, its outputs are kept.</p>
        </div>
      </div>
      <Shown of={kept} what="apps">
        {(apps) => (apps.length === 0 ? <NoApps /> : <Choice apps={apps} chosen={chosen} />)}
      </Shown>
    </>
  );
}

function NoApps() {
  return (
    <section class="card">
      <div class="empty">
        <h2>No app that you may run</h2>
        <p>
          An app is a program with the inputs and parameters that it takes. Whoever may register apps describes it in a
          file.
        </p>
        <Command text="muster app create --file count.json" />
      </div>
    </section>
  );
}

function Choice({ apps, chosen }: { readonly apps: readonly ListedApp[]; readonly chosen: string }) {
  const { api } = signedIn();
  const app = useSignal<App | null>(null);
  const error = useSignal<ApiError | null>(null);
  const id = chosen === '' && apps.length === 1 ? (apps[0]?.id ?? '') : chosen;
  useEffect(() => {
    app.value = null;
    error.value = null;
    if (id === '') return;
    const reading = new AbortController();
    api.get<App>(`/apps/v2/${encodeURIComponent(id)}`, { naked: true }, reading.signal).then(
      ({ body }) => {
        app.value = body;
      },
      (thrown: unknown) => {
        if (!reading.signal.aborted) error.value = apiError(thrown);
      },
    );
    return () => reading.abort();
  }, [id]);
  return (
    <>
      <div class="filters">
        <div class="field">
          <label for="new-job-app">App</label>
          <select
            id="new-job-app"
            class="input"
            data-filter
            value={id}
            onChange={(event) => setParameters({ app: event.currentTarget.value }, { replace: false })}
          >
            {id === '' && <option value="">Choose one …</option>}
            {apps.map((each) => (
              <option key={each.id} value={each.id}>
                {safeText(each.id)}
                {each.label !== each.name && each.label !== '' && ` (${safeText(each.label)})`}
              </option>
            ))}
            {id !== '' && apps.every((each) => each.id !== id) && <option value={id}>{safeText(id)}</option>}
          </select>
        </div>
      </div>
      {error.value !== null && <Failure error={error.value} />}
      {id !== '' && app.value === null && error.value === null && <Waiting what="the app" />}
      {app.value !== null && <Form key={app.value.id} app={app.value} />}
      {id === '' && <Command text="muster app list" />}
    </>
  );
}

function Form({ app }: { readonly app: App }) {
  const { api } = signedIn();
  const fields = fieldsOf(app);
  const parameters = fields.map(({ parameter }) => parameter);
  const values = useSignal(startValues(parameters));
  const touched = useSignal(false);
  const more = useSignal({ name: app.name, system: '', maxRunTime: '', archive: true });
  const busy = useSignal(false);
  const error = useSignal<ApiError | null>(null);
  const faults = faultsOf(parameters, values.value);
  const form: JobForm = { app, fields, values: values.value, ...more.value };
  const allowed = mayI('job:use');
  const may: May = !allowed.may
    ? allowed
    : faults.size === 0
      ? { may: true }
      : { may: false, why: `what it needs is missing: ${[...faults.keys()].join(', ')}` };
  const submit = async (): Promise<void> => {
    busy.value = true;
    error.value = null;
    try {
      const job = await api.post<LongJob>('/jobs/v2?naked=true', submissionOf(form));
      go(hrefOf(api.org, { name: 'long-job', id: job.id }));
    } catch (thrown) {
      error.value = apiError(thrown);
      busy.value = false;
    }
  };
  const set = (change: Partial<typeof more.value>): void => {
    more.value = { ...more.value, ...change };
  };
  const description = app.longDescription === '' ? app.shortDescription : app.longDescription;
  return (
    <>
      {description !== '' && <p class="quiet break">{safeText(description)}</p>}
      <div class="form">
        <section class="card">
          <header>
            <h2>What it takes</h2>
          </header>
          <div class="inside stack">
            {fields.length === 0 && <p class="quiet">It takes no inputs and no parameters.</p>}
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
          </div>
        </section>
        <div class="stack">
          <section class="card">
            <header>
              <h2>How it is run</h2>
            </header>
            <div class="inside stack">
              <OptionField id="new-job-name" label="Name" value={more.value.name} onValue={(name) => set({ name })} />
              {app.executionSystem === null ? (
                <OptionField
                  id="new-job-system"
                  label="System"
                  hint="the default one unless given"
                  value={more.value.system}
                  onValue={(system) => set({ system })}
                />
              ) : (
                <p class="quiet">It runs on {safeText(app.executionSystem)}.</p>
              )}
              <OptionField
                id="new-job-max-run-time"
                label="At most"
                hint="hours:minutes:seconds, such as 02:00:00; as the app says unless given"
                value={more.value.maxRunTime}
                onValue={(maxRunTime) => set({ maxRunTime })}
              />
              <label class="line">
                <input
                  type="checkbox"
                  class="check"
                  checked={more.value.archive}
                  onChange={(event) => set({ archive: event.currentTarget.checked })}
                />
                Archive its outputs
              </label>
            </div>
          </section>
          {error.value !== null && <Failure error={error.value} />}
          <div class="actions">
            <Action
              label="Submit the job"
              tone="main-action"
              may={may}
              busy={busy.value}
              onClick={() => void submit()}
            />
          </div>
        </div>
      </div>
      <Command text={musterCommand(...runWords(form))} />
    </>
  );
}
