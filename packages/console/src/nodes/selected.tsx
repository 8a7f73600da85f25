import { useSignal } from '@preact/signals';
import { setParameters } from '../navigation.js';
import { Action } from '../parts/action.jsx';
import { ByKey } from '../parts/by-key.jsx';
import { LinkAction } from '../parts/link-action.jsx';
import { number, plural } from '../parts/numbers.js';
import { OptionField } from '../parts/option-field.jsx';
import { musterCommand, quoted } from '../parts/shell.js';
import { hrefOf } from '../route.js';
import type { May } from '../session/permissions.js';
import { mayI, signedIn } from '../session/session.js';
import { MOST_COMPARED } from './comparison.jsx';
import { MOST_SELECTED } from './selection.js';

export function select(names: ReadonlySet<string>): void {
  setParameters({ selected: [...names].join(',') });
}

/** What may be done with the nodes that are selected. */
export function Selected({ names }: { readonly names: readonly string[] }) {
  const { org } = signedIn().api;
  const asking = useSignal<'save' | 'remove' | null>(null);
  const admin = mayI('org:admin');
  return (
    <div class="selected">
      <strong class="number">{plural(names.length, 'node')} selected</strong>
      <LinkAction
        label={`Run a command on ${names.length === 1 ? 'it' : 'them'} …`}
        may={mayI('push:execute')}
        href={hrefOf(org, { name: 'new-job' }, { nodes: names.join(',') })}
      />
      <Action
        label="Compare"
        may={comparable(names.length)}
        onClick={() => setParameters({ compare: names.join(',') }, { replace: false })}
      />
      <Action label="Save as a node group …" may={admin} onClick={() => (asking.value = 'save')} />
      <Action label="Remove …" tone="danger" may={admin} onClick={() => (asking.value = 'remove')} />
      <button type="button" class="button plain" onClick={() => select(new Set())}>
        Clear
      </button>
      {names.length === MOST_SELECTED && (
        <span class="quiet">No more than {number(MOST_SELECTED)} are selected one by one; a filter finds more.</span>
      )}
      {asking.value === 'save' && <SaveGroup names={names} onClose={() => (asking.value = null)} />}
      {asking.value === 'remove' && <Remove names={names} onClose={() => (asking.value = null)} />}
    </div>
  );
}

function comparable(count: number): May {
  if (count < 2) return { may: false, why: 'two are needed to compare them' };
  return count <= MOST_COMPARED
    ? { may: true }
    : { may: false, why: `no more than ${MOST_COMPARED} are compared at once` };
}

function Remove({ names, onClose }: { readonly names: readonly string[]; readonly onClose: () => void }) {
  const [only = ''] = names;
  const command =
    names.length === 1
      ? musterCommand('node', 'rm', only)
      : `for node in ${names.map(quoted).join(' ')}; do muster node rm "$node" --yes; done`;
  return (
    <ByKey title={`Remove ${plural(names.length, 'node')}?`} command={command} onClose={onClose}>
      <p>They and their keys are forgotten; to come back they enrol anew. Their results in earlier jobs stay.</p>
    </ByKey>
  );
}

/** Grants to a node group say who may run commands on its nodes. */
function SaveGroup({ names, onClose }: { readonly names: readonly string[]; readonly onClose: () => void }) {
  const name = useSignal('');
  const group = name.value.trim();
  return (
    <ByKey
      title={`Save ${plural(names.length, 'node')} as a node group`}
      command={musterCommand('node-group', 'create', group === '' ? 'NAME' : group, '--node', ...names)}
      onClose={onClose}
    >
      <OptionField
        id="group-name"
        label="Name of the node group"
        value={name.value}
        placeholder="canaries"
        onValue={(text) => (name.value = text)}
      />
    </ByKey>
  );
}
