import type { Fleet, FleetNode } from '../live/fleet.js';
import { setParameters } from '../navigation.js';
import { Note } from '../parts/note.jsx';
import { plural } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { Status } from '../parts/status.jsx';
import { hrefOf } from '../route.js';
import { signedIn } from '../session/session.js';
import { OWNER_LOOKS } from '../statuses/nodes.js';
import { differencesOf } from './differences.js';

/** More side by side nobody reads. */
export const MOST_COMPARED = 12;

/** In what nodes differ. @param names As the URL has them. */
export function Comparison({ fleet, names }: { readonly fleet: Fleet; readonly names: string }) {
  const asked = [...new Set(names.split(','))].filter((name) => name !== '');
  const nodes = asked.slice(0, MOST_COMPARED).flatMap((name): FleetNode[] => {
    const node = fleet.get(name);
    return node === undefined ? [] : [node];
  });
  const unknown = asked.filter((name) => !fleet.has(name));
  const { differences, same } = differencesOf(nodes);
  return (
    <section class="card" aria-label="Comparison">
      <header>
        <h2>{plural(nodes.length, 'node')} compared</h2>
        <button type="button" class="button plain small" onClick={() => setParameters({ compare: null })}>
          Close
        </button>
      </header>
      {(unknown.length > 0 || asked.length > MOST_COMPARED || nodes.length < 2) && (
        <div class="inside">
          <Note>
            {unknown.length > 0 && <span>There is no node {safeText(unknown.join(', '))}. </span>}
            {asked.length > MOST_COMPARED && <span>The first {MOST_COMPARED} are compared. </span>}
            {nodes.length < 2 && <span>Two are needed to compare them.</span>}
          </Note>
        </div>
      )}
      {nodes.length > 1 && (
        // It may be wider than the page: it is scrolled by itself, by keys, too.
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached
        <section class="compared" aria-label="In what they differ" tabIndex={0}>
          <table>
            <thead>
              <tr>
                <td />
                {nodes.map(({ name }) => (
                  <th key={name} scope="col">
                    <NodeLink name={name} />
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              <tr>
                <th scope="row">state</th>
                {nodes.map(({ name, owner }) => (
                  <td key={name}>
                    <Status look={OWNER_LOOKS[owner]} />
                  </td>
                ))}
              </tr>
              {differences.map(({ name, values }) => (
                <tr key={name}>
                  <th scope="row">{safeText(name)}</th>
                  {values.map((value, index) => (
                    <td key={nodes[index]?.name}>
                      {value === null ? <span class="quiet">–</span> : <span class="mono">{safeText(value)}</span>}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      {nodes.length > 1 && (
        <p class="inside quiet break">
          {differences.length === 0 && 'They tell the same of themselves. '}
          {same.length === 0 ? 'They have nothing alike.' : `Alike in all: ${safeText(same.join(', '))}.`}
        </p>
      )}
    </section>
  );
}

function NodeLink({ name }: { readonly name: string }) {
  const { org } = signedIn().api;
  return (
    <a class="mono" href={hrefOf(org, { name: 'node', node: name })}>
      {safeText(name)}
    </a>
  );
}
