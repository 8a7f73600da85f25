import type { Runbooks } from '../api/types.gen.js';
import { useReading } from '../live/reading.js';
import { go, place, setParameters } from '../navigation.js';
import { Command } from '../parts/command.jsx';
import { Listed } from '../parts/listed.jsx';
import { safeText } from '../parts/safe-text.js';
import { Status } from '../parts/status.jsx';
import { Ago } from '../parts/time.jsx';
import { hrefOf } from '../route.js';
import { signedIn } from '../session/session.js';
import type { Column } from '../table/table.jsx';

/** Saved commands that one may look at or run. */
export function RunbooksScreen() {
  const { api } = signedIn();
  const { org } = api;
  const q = place.value.query.get('q') ?? '';
  const kept = useReading({
    key: '',
    read: (signal) => api.get<Runbooks>('/runbooks', {}, signal),
    selector: "type LIKE 'runbook.%'",
  });
  return (
    <>
      <div class="head">
        <div class="title">
          <h1>Runbooks</h1>
        </div>
      </div>
      <div class="filters">
        <div class="field grow">
          <label for="runbooks-filter">Which runbooks</label>
          <input
            id="runbooks-filter"
            class="input"
            data-filter
            value={q}
            placeholder="part of a name or description"
            autocomplete="off"
            onInput={(event) => setParameters({ q: event.currentTarget.value })}
          />
        </div>
      </div>
      <Listed
        of={kept}
        what={['runbooks', 'runbook']}
        label="Runbooks"
        columns={columns(org)}
        keyOf={({ name }) => name}
        filter={(runbooks) => {
          const text = q.trim().toLowerCase();
          return runbooks.filter(({ name, description }) => `${name}\n${description}`.toLowerCase().includes(text));
        }}
        empty={(runbooks) => (runbooks.length === 0 ? <NoRunbooks /> : <NoMatch />)}
        onOpen={({ name }) => go(hrefOf(org, { name: 'runbook', runbook: name }))}
      />
      <Command text="muster runbook list" />
    </>
  );
}

function NoRunbooks() {
  return (
    <>
      <h2>No runbook yet</h2>
      <p>
        A runbook is a saved command: what is run, on which nodes, with which parameters, and who may run it, who needs
        no other right.
      </p>
      <Command text="muster runbook create restart-web -f restart-web.yaml" />
    </>
  );
}

function NoMatch() {
  return (
    <>
      <h2>No runbook matches</h2>
      <button type="button" class="button" onClick={() => setParameters({ q: null })}>
        Show all runbooks
      </button>
    </>
  );
}

function columns(org: string): readonly Column<Runbooks[number]>[] {
  return [
    {
      id: 'name',
      head: 'Name',
      track: 'minmax(0, 1.2fr)',
      cell: ({ name }) => (
        <a tabIndex={-1} href={hrefOf(org, { name: 'runbook', runbook: name })}>
          {safeText(name)}
        </a>
      ),
    },
    {
      id: 'description',
      head: 'What for',
      track: 'minmax(0, 2fr)',
      wide: true,
      cell: ({ description }) => <span class="quiet">{safeText(description)}</span>,
    },
    {
      id: 'may',
      head: 'You',
      track: '130px',
      cell: ({ runnable }) =>
        runnable ? (
          <Status look={{ glyph: 'play', word: 'may run it', tone: 'ok' }} />
        ) : (
          <Status look={{ glyph: 'dash', word: 'may see it', tone: 'idle' }} />
        ),
    },
    { id: 'author', head: 'Author', track: '110px', wide: true, cell: ({ author }) => safeText(author) },
    { id: 'version', head: 'Version', track: '70px', end: true, wide: true, cell: ({ version }) => version },
    {
      id: 'at',
      head: 'Changed',
      track: '92px',
      end: true,
      cell: ({ updated_at: at }) => <Ago at={Date.parse(at)} word=" ago" />,
    },
  ];
}
