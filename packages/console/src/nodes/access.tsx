import type { NodeKeys, WhoMayRun } from '../api/types.gen.js';
import { useReading } from '../live/reading.js';
import { Card } from '../parts/card.jsx';
import { Command } from '../parts/command.jsx';
import { KeyLines } from '../parts/key-lines.jsx';
import { Shown } from '../parts/loaded.jsx';
import { plural } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { musterCommand } from '../parts/shell.js';
import { mayI, signedIn } from '../session/session.js';

const SHOWN_PEOPLE = 10;

/** By grants and rights; what its owner allows there is another question. */
export function Who({ node }: { readonly node: string }) {
  const admin = mayI('org:admin');
  return (
    <Card title="Who may run commands here">
      {admin.may ? <Principals node={node} /> : <p class="inside quiet">To see them {admin.why}.</p>}
    </Card>
  );
}

function Principals({ node }: { readonly node: string }) {
  const { api } = signedIn();
  const kept = useReading({
    key: node,
    read: (signal) => api.get<WhoMayRun>(`/nodes/${encodeURIComponent(node)}/who`, {}, signal),
    selector: "type LIKE 'auth.%'",
  });
  return (
    <Shown of={kept} what="who may">
      {({ principals, restricted_by: groups }) => {
        const those = principals.filter(({ may }) => may);
        return (
          <ul class="lines">
            <li class="quiet break">
              {groups.length === 0
                ? 'It is in no node group with grants: whoever may start push jobs.'
                : `Only by a grant: it is in the node group ${safeText(groups.join(', '))}.`}
            </li>
            {those.slice(0, SHOWN_PEOPLE).map(({ kind, name, why }) => (
              <li key={`${kind} ${name}`} class="break">
                {safeText(name)} <span class="quiet">{safeText(why)}</span>
              </li>
            ))}
            {those.length > SHOWN_PEOPLE && <li class="quiet">and {plural(those.length - SHOWN_PEOPLE, 'other')}</li>}
            {those.length === 0 && <li class="quiet">Nobody.</li>}
          </ul>
        );
      }}
    </Shown>
  );
}

/** With which it proves that it is itself. */
export function KeysOf({ node }: { readonly node: string }) {
  const admin = mayI('org:admin');
  return (
    <Card title="Keys">{admin.may ? <Keys node={node} /> : <p class="inside quiet">To see them {admin.why}.</p>}</Card>
  );
}

function Keys({ node }: { readonly node: string }) {
  const { api } = signedIn();
  const kept = useReading<NodeKeys>({
    key: node,
    read: (signal) => api.get<NodeKeys>(`/nodes/${encodeURIComponent(node)}/keys`, {}, signal),
    selector: "type LIKE 'auth.%'",
  });
  return (
    <Shown of={kept} what="its keys">
      {(keys) => (
        <>
          <KeyLines keys={keys} />
          <div class="inside stack">
            <p class="quiet">A key is added and taken away by a request that is signed with yours.</p>
            <Command text={musterCommand('node', 'add-key', node, '--public-key', 'new.pub')} />
          </div>
        </>
      )}
    </Shown>
  );
}
