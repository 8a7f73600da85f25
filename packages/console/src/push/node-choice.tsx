import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { JobNode } from '../api/types.js';
import { setParameters } from '../navigation.js';
import { number } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { namesWith } from './names-with.js';

/** More than these are no choice in a list: a part of the name is typed. */
const MOST_LISTED = 200;
const OFFERED = 50;

interface Props {
  readonly nodes: readonly JobNode[];
  readonly places: ReadonlyMap<string, number>;
  readonly name: string;
}

/** Whose output is shown. */
export function NodeChoice(props: Props) {
  const { nodes, name } = props;
  return (
    <>
      <label class="unseen" for="output-node">
        Node
      </label>
      {nodes.length > MOST_LISTED ? (
        <Typed {...props} />
      ) : (
        <select id="output-node" class="input" value={name} onChange={(event) => show(event.currentTarget.value)}>
          {nodes.map(({ node_name: each }) => (
            <option key={each} value={each}>
              {safeText(each)}
            </option>
          ))}
        </select>
      )}
    </>
  );
}

function show(node: string): void {
  setParameters({ node, line: null });
}

function Typed({ nodes, places, name }: Props) {
  const typed = useSignal(name);
  useEffect(() => {
    typed.value = name;
  }, [name]);
  const text = typed.value.trim();
  const known = places.has(text);
  const offered = known ? [] : namesWith(nodes, text, OFFERED);
  return (
    <>
      <input
        id="output-node"
        class="input mono"
        list="output-nodes"
        value={typed.value}
        placeholder="a part of its name"
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        aria-invalid={!known}
        aria-describedby="output-node-hint"
        onFocus={(event) => event.currentTarget.select()}
        onInput={(event) => {
          typed.value = event.currentTarget.value;
          if (places.has(typed.value.trim())) show(typed.value.trim());
        }}
        onKeyDown={(event) => {
          const [only] = offered;
          if (event.key === 'Enter' && only !== undefined) show(only);
        }}
        onBlur={() => {
          typed.value = name;
        }}
      />
      <datalist id="output-nodes">
        {offered.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
      <span class="quiet" id="output-node-hint" role="status">
        {known
          ? `of ${number(nodes.length)}`
          : offered.length === 0
            ? 'the job has no node of such a name'
            : `${safeText(offered[0] ?? '')} with Enter`}
      </span>
    </>
  );
}
