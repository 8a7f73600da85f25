import { plural } from '../parts/numbers.js';
import { OptionField } from '../parts/option-field.jsx';
import { SelectorField } from '../parts/selector-field.jsx';
import { namesIn, type Where } from './wish.js';

const WAYS = [
  ['search', 'Search'],
  ['nodes', 'Names'],
  ['group', 'Node group'],
] as const;

/** On which nodes: by one of four ways. */
export function WhereFields({
  where,
  words,
  valuesOf,
  onWhere,
  onReadable,
}: {
  readonly where: Where;
  readonly words: readonly string[];
  readonly valuesOf: (attribute: string) => readonly string[];
  readonly onWhere: (where: Where) => void;
  /** Whether the search that is typed can be read. */
  readonly onReadable: (readable: boolean) => void;
}) {
  const ways = where.by === 'job' ? [...WAYS, ['job', 'From a job'] as const] : WAYS;
  const choose = (by: Where['by']): void => {
    if (by === where.by) return;
    if (by === 'search') onWhere({ by, query: '' });
    else if (by === 'nodes') onWhere({ by, names: '' });
    else if (by === 'group') onWhere({ by, group: '' });
  };
  return (
    <>
      <fieldset class="choices">
        <legend class="unseen">How nodes are chosen</legend>
        {ways.map(([by, word]) => (
          <label key={by} class="chip">
            <input type="radio" name="where" checked={where.by === by} onChange={() => choose(by)} />
            {word}
          </label>
        ))}
      </fieldset>
      {where.by === 'search' && (
        <SelectorField
          id="where"
          label="Nodes that match"
          value={where.query}
          placeholder="role:web AND env:prod"
          sugar
          words={words}
          valuesOf={valuesOf}
          onReadable={onReadable}
          hint="Facts and labels. *:* is every node."
          onValue={(query) => onWhere({ by: 'search', query })}
        />
      )}
      {where.by === 'nodes' && (
        <div class="field">
          <label for="where-names">Names</label>
          <textarea
            id="where-names"
            class="input mono"
            rows={3}
            value={where.names}
            spellcheck={false}
            onInput={(event) => onWhere({ by: 'nodes', names: event.currentTarget.value })}
          />
          <span class="hint">{plural(namesIn(where.names).length, 'name')}, apart by spaces, commas or lines</span>
        </div>
      )}
      {where.by === 'group' && (
        <OptionField
          id="where-group"
          label="Name of the node group"
          hint="its nodes when the job starts"
          value={where.group}
          onValue={(group) => onWhere({ by: 'group', group })}
        />
      )}
      {where.by === 'job' && (
        <p class="break">
          Nodes of the job <code>{where.id}</code> that are: {where.statuses.join(', ')}.
        </p>
      )}
    </>
  );
}
