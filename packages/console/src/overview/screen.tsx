import { readJobs } from '../jobs/read.js';
import { ofLongJobs } from '../jobs/told.js';
import { useReading } from '../live/reading.js';
import { AddMachine } from '../nodes/add-machine.jsx';
import { NoNodes } from '../nodes/empty.jsx';
import { Command } from '../parts/command.jsx';
import { NewJob } from '../push/new-job-link.jsx';
import { signedIn } from '../session/session.js';
import { hasEnded, STATUSES } from '../statuses/jobs.js';
import { useQueues } from '../tasks/read-queues.js';
import { FleetPanel } from './fleet.jsx';
import { NeedsPanel } from './needs-panel.jsx';
import { RecentPanel } from './recent.jsx';
import { RunningPanel } from './running.jsx';

/** Is my fleet well, and what runs? */
export function OverviewScreen() {
  const { store } = signedIn();
  const fleet = store.fleet.loaded;
  const none = fleet.value.state === 'ready' && fleet.value.value.size === 0;
  return (
    <>
      <div class="head">
        <div class="title">
          <h1>Overview</h1>
        </div>
        <div class="actions">
          {!none && <AddMachine />}
          <NewJob />
        </div>
      </div>
      {none ? (
        <section class="card">
          <NoNodes />
        </section>
      ) : (
        <Panels />
      )}
      <Command text="muster node list" />
    </>
  );
}

const NOT_ENDED = STATUSES.filter((status) => !hasEnded(status));

function Panels() {
  const { store, api } = signedIn();
  const fleet = store.fleet.loaded.value;
  const push = store.recent.loaded.value;
  const { loaded: long } = useReading({
    key: '',
    read: (signal) => readJobs(api, { q: '', statuses: NOT_ENDED, hidden: false }, 1, signal),
    ...ofLongJobs,
  });
  const { loaded: queues } = useQueues();
  return (
    <div class="panels">
      <FleetPanel loaded={fleet} again={() => void store.fleet.reload()} />
      <RunningPanel push={push} again={() => void store.recent.reload()} long={long} queues={queues} />
      <NeedsPanel fleet={fleet} push={push} queues={queues} />
      <RecentPanel push={push} />
    </div>
  );
}
