import type { Access, WhoMayRun } from '../api/types.gen.js';
import { useReading } from '../live/reading.js';
import { place, setParameters } from '../navigation.js';
import { Glyph } from '../parts/glyph.jsx';
import { Shown } from '../parts/loaded.jsx';
import { safeText } from '../parts/safe-text.js';
import { useTyped } from '../parts/typed.js';
import { signedIn } from '../session/session.js';
import { TOLD } from './told.js';
import { inWords } from './words.js';

/** “May alice run on db1?”, answered in a sentence. */
export function Question({ people }: { readonly people: Access }) {
  const { store } = signedIn();
  const { query } = place.value;
  const [who, node] = [query.get('who') ?? '', query.get('node') ?? ''];
  const fleet = store.fleet.loaded.value;
  const nodes = fleet.state === 'ready' ? [...fleet.value.keys()].slice(0, 1000) : [];
  return (
    <section class="card">
      <div class="inside filters">
        <Field id="who" label="May" value={who} placeholder="alice" words={people.map(({ name }) => name)} />
        <Field id="node" label="run commands on" value={node} placeholder="db1" words={nodes} />
      </div>
      {who !== '' && node !== '' && <Verdict key={`${who} ${node}`} who={who} node={node} />}
    </section>
  );
}

function Field({
  id,
  label,
  value,
  placeholder,
  words,
}: {
  readonly id: string;
  readonly label: string;
  readonly value: string;
  readonly placeholder: string;
  readonly words: readonly string[];
}) {
  const { text, type, settle } = useTyped(value, (typed) => setParameters({ [id]: typed }));
  return (
    <div class="field">
      <label for={`access-${id}`}>{label}</label>
      <input
        id={`access-${id}`}
        class="input"
        value={text.value}
        placeholder={placeholder}
        list={`access-${id}-words`}
        autocomplete="off"
        spellcheck={false}
        {...(id === 'who' && { 'data-filter': true })}
        onInput={(event) => type(event.currentTarget.value)}
        onBlur={settle}
        onKeyDown={(event) => {
          if (event.key === 'Enter') settle();
        }}
      />
      <datalist id={`access-${id}-words`}>
        {words.map((word) => (
          <option key={word} value={word} />
        ))}
      </datalist>
    </div>
  );
}

function Verdict({ who, node }: { readonly who: string; readonly node: string }) {
  const { api } = signedIn();
  const kept = useReading({
    key: '',
    read: (signal) => api.get<WhoMayRun>(`/nodes/${encodeURIComponent(node)}/who`, { name: who }, signal),
    selector: TOLD,
  });
  return (
    <div class="inside" role="status">
      <Shown of={kept} what="the answer">
        {({ principals }) =>
          principals.length === 0 ? (
            <p>Nobody in the organization is called {safeText(who)}.</p>
          ) : (
            principals.map(({ kind, may, why }) => (
              <p key={kind} class="line">
                <Glyph name={may ? 'check' : 'ban'} tone={may ? 'ok' : 'bad'} />
                <span class="break">
                  {inWords(safeText(why))} What the owner of the node allows there is another question.
                </span>
              </p>
            ))
          )
        }
      </Shown>
    </div>
  );
}
