import { countOwners, type FleetNode, OWNERS } from '../live/fleet.js';
import { setParameters } from '../navigation.js';
import { Note } from '../parts/note.jsx';
import { number } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { Status } from '../parts/status.jsx';
import { OWNER_LOOKS } from '../statuses/nodes.js';
import { groupsOf, narrowed } from './groups.js';
import { isOwner } from './rows.js';

interface Props {
  /** Those that are counted. */
  readonly nodes: readonly FleetNode[];
  /** Labels and facts that there are. */
  readonly names: readonly string[];
  readonly q: string;
  readonly group: string;
  readonly owner: string | null;
}

/** How many there are of each kind, by their state or by what they tell; one kind of them is chosen by its count. */
export function Grouping({ nodes, names, q, group, owner }: Props) {
  return (
    <div class="grouping">
      <div class="field">
        <label for="nodes-group">Group by</label>
        <select
          id="nodes-group"
          class="input"
          value={group}
          onChange={(event) => setParameters({ group: event.currentTarget.value })}
        >
          <option value="">state</option>
          {group !== '' && !names.includes(group) && <option value={group}>{safeText(group)}</option>}
          {names.map((name) => (
            <option key={name} value={name}>
              {safeText(name)}
            </option>
          ))}
        </select>
      </div>
      {group === '' ? (
        <States nodes={nodes} owner={owner} />
      ) : (
        <Values nodes={nodes} q={q} name={group} owner={owner} />
      )}
      {group !== '' && !names.includes(group) && (
        <Note>No node tells a {safeText(group)}, neither as a label nor as a fact.</Note>
      )}
    </div>
  );
}

function States({ nodes, owner }: Pick<Props, 'nodes' | 'owner'>) {
  const counts = countOwners(nodes);
  return (
    <div class="choices">
      <button type="button" class="chip" aria-pressed={!isOwner(owner)} onClick={() => setParameters({ owner: null })}>
        all {number(nodes.length)}
      </button>
      {OWNERS.map((each) => (
        <button
          key={each}
          type="button"
          class="chip"
          aria-pressed={owner === each}
          onClick={() => setParameters({ owner: owner === each ? null : each })}
        >
          <Status look={OWNER_LOOKS[each]} /> {number(counts[each])}
        </button>
      ))}
    </div>
  );
}

const SHOWN = 24;

function Values({ nodes, q, name, owner }: Pick<Props, 'nodes' | 'q' | 'owner'> & { readonly name: string }) {
  const groups = groupsOf(nodes, name);
  return (
    <div class="choices">
      {isOwner(owner) && (
        <button type="button" class="chip" aria-pressed onClick={() => setParameters({ owner: null })}>
          <Status look={OWNER_LOOKS[owner]} />
        </button>
      )}
      {groups.slice(0, SHOWN).map(({ value, count }) => (
        <button
          key={`${typeof value} ${value}`}
          type="button"
          class="chip"
          onClick={() => setParameters({ q: narrowed(q, name, value) }, { replace: false })}
        >
          {value === null ? (
            <span class="quiet">none</span>
          ) : (
            <span class="mono cut">{value === '' ? "''" : safeText(String(value))}</span>
          )}
          <span class="number">{number(count)}</span>
        </button>
      ))}
      {groups.length > SHOWN && <span class="quiet number">and {number(groups.length - SHOWN)} other values</span>}
    </div>
  );
}
