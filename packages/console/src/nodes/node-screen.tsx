import { useSignal } from '@preact/signals';
import type { NodeDetail, NodeHistory, NodeWhy } from '../api/types.gen.js';
import type { Job } from '../api/types.js';
import { useReading } from '../live/reading.js';
import { Action } from '../parts/action.jsx';
import { ByKey } from '../parts/by-key.jsx';
import { Card } from '../parts/card.jsx';
import { Command } from '../parts/command.jsx';
import { equals } from '../parts/equals.js';
import { LinkAction } from '../parts/link-action.jsx';
import { Failure, Note, Waiting } from '../parts/note.jsx';
import { plural } from '../parts/numbers.js';
import { Prose } from '../parts/prose.jsx';
import { safeText } from '../parts/safe-text.js';
import { musterCommand } from '../parts/shell.js';
import { Status } from '../parts/status.jsx';
import { Ago } from '../parts/time.jsx';
import { JobStatus } from '../push/parts.jsx';
import { hrefOf } from '../route.js';
import { mayI, signedIn } from '../session/session.js';
import { OWNER_LOOKS } from '../statuses/nodes.js';
import { JOB_NODE_LOOKS } from '../statuses/push.js';
import { KeysOf, Who } from './access.jsx';
import { factText } from './fact-text.js';

interface Known {
  readonly detail: NodeDetail;
  readonly why: NodeWhy;
  readonly history: NodeHistory;
  /** Null: one may not look at push jobs. */
  readonly jobs: readonly Job[] | null;
}

const JOBS = 10;
const HISTORY = 1000;
const SHOWN_CHANGES = 20;

/** Everything about one node, and why it is as it is. */
export function NodeScreen({ name }: { readonly name: string }) {
  const { api, store } = signedIn();
  const { org } = api;
  const removing = useSignal(false);
  const node = store.fleet.loaded.value.state === 'ready' ? store.fleet.loaded.value.value.get(name) : undefined;
  const { loaded, again } = useReading<Known>({
    key: name,
    selector: `${equals('node', name)} AND (type LIKE 'node.%' OR type LIKE 'push.%')`,
    read: async (signal) => {
      const path = `/nodes/${encodeURIComponent(name)}`;
      // Its answer tells the position: what is read after it is not older.
      const detail = await api.get<NodeDetail>(path, {}, signal);
      const [why, history, jobs] = await Promise.all([
        api.get<NodeWhy>(`${path}/why`, {}, signal),
        api.get<NodeHistory>(`${path}/history`, { limit: HISTORY }, signal),
        mayI('push:read').may
          ? api.get<readonly Job[]>('/pushy/jobs', { node: name, detail: true, limit: JOBS }, signal)
          : null,
      ]);
      const body = { detail: detail.body, why: why.body, history: history.body, jobs: jobs?.body ?? null };
      return { ...detail, body };
    },
  });

  if (loaded.state !== 'ready') {
    return (
      <>
        <h1 class="break">{safeText(name)}</h1>
        {loaded.state === 'loading' ? (
          <section class="card">
            <Waiting what="the node" />
          </section>
        ) : (
          <>
            <Failure error={loaded.error} again={again} />
            <p>
              <a href={hrefOf(org, { name: 'nodes' })}>All nodes</a>
            </p>
          </>
        )}
      </>
    );
  }
  const { detail, why, history, jobs } = loaded.value;
  const owner = node?.owner ?? detail.owner;
  const since = node?.since ?? Date.parse(detail.owner_since);
  const job = node === undefined ? (detail.job_id ?? null) : node.job;
  return (
    <>
      <div class="head">
        <div class="title">
          <p>
            <a href={hrefOf(org, { name: 'nodes' })}>Nodes</a>
          </p>
          <h1 class="break">{safeText(name)}</h1>
          <div class="line">
            <Status look={OWNER_LOOKS[owner]} badge />
            <span class="quiet">
              for <Ago at={since} />
            </span>
            {job !== null && <a href={hrefOf(org, { name: 'job', id: job })}>open the job</a>}
          </div>
        </div>
        <div class="actions">
          <LinkAction
            label="Run a command …"
            may={mayI('push:execute')}
            href={hrefOf(org, { name: 'new-job' }, { nodes: name })}
          />
          <a class="button" href={hrefOf(org, { name: 'events' }, { q: equals('node', name), from: '-1h' })}>
            Its events
          </a>
          <Action
            label="Remove …"
            tone="danger"
            may={mayI('org:admin')}
            onClick={() => {
              removing.value = true;
            }}
          />
        </div>
      </div>
      {store.fleet.loaded.value.state === 'ready' && node === undefined && <Note>This node was removed.</Note>}
      <section class="card">
        <header>
          <h2>Why {why.available ? 'it takes jobs' : 'it takes no job'}</h2>
        </header>
        <p class="inside break">
          <Prose text={why.explanation} />
        </p>
      </section>
      <div class="two">
        <div class="stack column">
          <Values title="Labels" values={detail.labels} none="Its owner gave it none." />
          <Card title="What it says of itself">
            <dl class="facts inside">
              <dt>heard</dt>
              <dd>{detail.heard_at === null ? 'never' : <Ago at={Date.parse(detail.heard_at)} word=" ago" />}</dd>
              <dt>said then</dt>
              <dd>{safeText(detail.state ?? '–')}</dd>
              <dt>agent</dt>
              <dd>{detail.via === 'ssh' ? 'none: the server runs commands there over ssh' : 'its own'}</dd>
              <dt>protocol</dt>
              <dd>{detail.dialect ?? '–'}</dd>
              <dt>agent before</dt>
              <dd>
                {detail.last_end === null ? 'none known' : safeText(LAST_ENDS[detail.last_end] ?? detail.last_end)}
              </dd>
              <dt>known for</dt>
              <dd>
                <Ago at={Date.parse(detail.created_at)} />
              </dd>
            </dl>
          </Card>
          <Commands node={detail} />
          <Who node={name} />
          <KeysOf node={name} />
        </div>
        <div class="stack column">
          <Values title="Facts" values={detail.facts} none="It has not told any." text={factText} />
          <Card title="Push jobs">
            {jobs === null ? (
              <p class="inside quiet">To see them you need the permission push:read.</p>
            ) : jobs.length === 0 ? (
              <p class="inside quiet">It was in none that is kept.</p>
            ) : (
              <ul class="lines">
                {jobs.map((each) => (
                  <li key={each.id}>
                    <div class="line">
                      <a
                        class="grow cut mono"
                        href={hrefOf(org, { name: 'job', id: each.id }, { view: 'output', node: name })}
                      >
                        {safeText(each.command)}
                      </a>
                      {each.node_status === undefined ? (
                        <JobStatus job={each} />
                      ) : (
                        <Status look={JOB_NODE_LOOKS[each.node_status]} />
                      )}
                      <span class="quiet">
                        <Ago at={Date.parse(each.created_at)} word=" ago" />
                      </span>
                    </div>
                  </li>
                ))}
              </ul>
            )}
          </Card>
          <Changes history={history} />
        </div>
      </div>
      <Command text={musterCommand('node', 'show', name)} />
      <Command text={musterCommand('node', 'why', name)} />
      {removing.value && (
        <ByKey
          title={`Remove ${safeText(name)}?`}
          command={musterCommand('node', 'rm', name)}
          onClose={() => {
            removing.value = false;
          }}
        >
          <p>It and its keys are forgotten; to come back it enrols anew. Its results in earlier jobs stay.</p>
        </ByKey>
      )}
    </>
  );
}

/** How the agent ended that was there before this one. */
const LAST_ENDS: Readonly<Record<string, string>> = {
  clean: 'was stopped',
  crash: 'crashed',
  reinstalled: 'was of an earlier installation',
};

function Values({
  title,
  values,
  none,
  text = (_, value) => String(value),
}: {
  readonly title: string;
  readonly values: NodeDetail['facts'];
  readonly none: string;
  readonly text?: typeof factText;
}) {
  const entries = Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1));
  return (
    <Card title={title}>
      {entries.length === 0 ? (
        <p class="inside quiet">{none}</p>
      ) : (
        <dl class="facts inside">
          {entries.map(([name, value]) => (
            <>
              <dt class="break">{safeText(name)}</dt>
              <dd title={text(name, value) === String(value) ? undefined : String(value)}>
                {safeText(text(name, value))}
              </dd>
            </>
          ))}
        </dl>
      )}
    </Card>
  );
}

function Commands({ node: { commands, via } }: { readonly node: NodeDetail }) {
  return (
    <Card title="Commands it takes">
      {commands === undefined ? (
        <p class="inside quiet">It does not tell.</p>
      ) : (
        <ul class="inside stack">
          {commands.any && <li>Whatever is asked for.</li>}
          {commands.list.map(({ name, pattern }) => (
            <li key={name} class="break">
              <code>{safeText(name)}</code>{' '}
              {pattern !== null && <span class="quiet">matching {safeText(pattern)}</span>}
            </li>
          ))}
          {!commands.any && commands.list.length === 0 && <li class="quiet">None of its owner.</li>}
          {commands.omitted > 0 && <li class="quiet">and {commands.omitted} that it does not tell</li>}
          {via === 'agent' && (
            <li>
              <span class="quiet">built in:</span> <code>sleep</code> <code>dummy_job</code> <code>facts</code>
            </li>
          )}
          <li class="quiet">
            Scripts: {commands.scripts}. Files: {commands.uploads ? 'takes some' : 'takes none'},{' '}
            {commands.fetches ? 'gives some' : 'gives none'}.
          </li>
        </ul>
      )}
    </Card>
  );
}

function Changes({ history }: { readonly history: NodeHistory }) {
  const changes = history.flatMap(({ at, changes: of, position }) => of.map((change) => ({ at, position, ...change })));
  const shown = changes.slice(-SHOWN_CHANGES).reverse();
  return (
    <Card title="Changes to labels and facts">
      {shown.length === 0 ? (
        <p class="inside quiet">None, as long as events are kept.</p>
      ) : (
        <ul class="lines">
          {shown.map(({ at, position, name, of, from, to }) => (
            <li key={`${position} ${of} ${name}`} class="break">
              <div class="line">
                <span class="grow break">
                  {safeText(name)}{' '}
                  <span class="quiet">{from === null ? 'was not there' : safeText(String(from))} → </span>
                  {to === null ? <span class="quiet">gone</span> : safeText(String(to))}
                </span>
                <span class="quiet">
                  <Ago at={Date.parse(at)} word=" ago" />
                </span>
              </div>
            </li>
          ))}
          {changes.length > SHOWN_CHANGES && (
            <li class="quiet">{plural(changes.length - SHOWN_CHANGES, 'earlier change')}</li>
          )}
        </ul>
      )}
    </Card>
  );
}
