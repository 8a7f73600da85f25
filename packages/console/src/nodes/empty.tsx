import { Command } from '../parts/command.jsx';
import { signedIn } from '../session/session.js';

/** How the first machine becomes a node. It turns into the first row as it arrives. */
export function NoNodes() {
  const { org } = signedIn().api;
  return (
    <div class="empty">
      <h2>No machine yet</h2>
      <p>
        Make a token with which agents may enrol, and start an agent on a machine. It makes its own key, registers it
        with the token, and appears here by itself.
      </p>
      <Command text="muster token create --uses 10 --ttl 1h" />
      <Command text={`muster agent --server ${location.origin} --org ${org} --name $(hostname) --enroll-file token`} />
      <p class="quiet">
        What commands the machine takes, its owner says there, in the agent's settings. Nothing here changes that.
      </p>
    </div>
  );
}
