import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import type { Fleet } from '../live/fleet.js';
import { Action } from '../parts/action.jsx';
import { Command } from '../parts/command.jsx';
import { CloseDialog, Dialog } from '../parts/dialog.jsx';
import { Glyph } from '../parts/glyph.jsx';
import { plural } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { hrefOf } from '../route.js';
import { mayI, signedIn } from '../session/session.js';

/** Asks nothing of the server: a token is made by a request that is signed with a key. */
export function Enrolling() {
  const { org } = signedIn().api;
  const agent = `muster agent --server ${location.origin} --org ${org}`;
  return (
    <>
      <p>
        Make a token with which agents may enrol, where your key is, and start an agent on a machine. It makes its own
        key, registers it with the token, and appears here by itself.
      </p>
      <Command text="(umask 077; muster token create --uses 10 --ttl 1h > token)" />
      <Command text={`${agent} --name $(hostname) --enroll-file token`} />
      <p>Or both in one line, for a machine that you reach over ssh:</p>
      <Command text={`muster token create | ssh web1 ${agent} --name web1 --enroll-file -`} />
      <p>Where no agent can be, such as on a switch, the server itself runs commands over ssh:</p>
      <Command text="muster ssh-node add switch1 --host switch1.example.com --user ops --host-key SHA256:… --key-file id_ed25519 --allow uptime" />
      <p class="quiet">
        What commands a machine with an agent takes, its owner says there, in the agent's settings. Nothing here changes
        that.
      </p>
    </>
  );
}

/** Where there are nodes already: how another machine becomes one, and that it has. */
export function AddMachine() {
  const open = useSignal(false);
  return (
    <>
      <Action label="Add machine …" may={mayI('org:admin')} onClick={() => (open.value = true)} />
      {open.value && (
        <Dialog title="Add a machine" onClose={() => (open.value = false)}>
          <Enrolling />
          <Arrived />
          <CloseDialog />
        </Dialog>
      )}
    </>
  );
}

const SHOWN = 5;

/** Nodes that have come since this is shown. */
function Arrived() {
  const { api, store } = signedIn();
  const { value: loaded } = store.fleet.loaded;
  const before = useRef<Fleet | null>(null);
  if (loaded.state !== 'ready') return null;
  before.current ??= loaded.value;
  const known = before.current;
  const names = [...loaded.value.keys()].filter((name) => !known.has(name));
  return (
    <div role="status">
      {names.length > 0 && (
        <p class="line wraps">
          <Glyph name="check" tone="ok" /> {plural(names.length, 'machine has', 'machines have')} come:
          {names.slice(0, SHOWN).map((name) => (
            <a key={name} class="break" href={hrefOf(api.org, { name: 'node', node: name })}>
              {safeText(name)}
            </a>
          ))}
          {names.length > SHOWN && `and ${names.length - SHOWN} more`}
        </p>
      )}
    </div>
  );
}
