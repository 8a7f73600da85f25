import { Enrolling } from './add-machine.jsx';

/** How the first machine becomes a node. It turns into the first row as it arrives. */
export function NoNodes() {
  return (
    <div class="empty">
      <h2>No machine yet</h2>
      <Enrolling />
    </div>
  );
}
