import type { ComponentChildren } from 'preact';
import { FINAL_NODE_STATUSES, type JobNode } from '../api/types.js';
import type { LiveJob } from '../live/job.js';
import { place, setParameters } from '../navigation.js';
import { STREAMS, StreamChoice } from '../output/stream-choice.jsx';
import { Viewer } from '../output/viewer.jsx';
import { Note } from '../parts/note.jsx';
import { bytes } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { Status } from '../parts/status.jsx';
import { signedIn } from '../session/session.js';
import { JOB_NODE_LOOKS } from '../statuses/push.js';
import { NodeChoice } from './node-choice.jsx';
import { endText, shortId } from './parts.jsx';
import { DID_NOT_RUN } from './ran.js';

/** What one node wrote. */
export function NodeOutput({ state }: { readonly state: LiveJob }) {
  const { job, nodes, places } = state;
  const { api } = signedIn();
  const { query } = place.value;
  const name = query.get('node') ?? tellingNode(nodes);
  const at = places.get(name ?? '') ?? -1;
  const node = nodes[at];
  if (job.capture_output !== true) {
    return (
      <Inside>
        <p>This job does not keep what its command writes.</p>
      </Inside>
    );
  }
  if (node === undefined || name === undefined) {
    return (
      <Inside>
        <Note>The job has no node {safeText(name ?? '')}.</Note>
      </Inside>
    );
  }
  const choice = <NodeChoice nodes={nodes} places={places} name={name} />;
  if (DID_NOT_RUN.includes(node.status)) {
    return (
      <>
        <div class="output-bar">
          {choice}
          <Status look={JOB_NODE_LOOKS[node.status]} />
        </div>
        <Inside>
          <p class="break">
            {safeText(name)} did not run it: {safeText(node.reason ?? JOB_NODE_LOOKS[node.status].word)}.
          </p>
        </Inside>
      </>
    );
  }
  const ended = FINAL_NODE_STATUSES.has(node.status);
  const written = { stdout: node.stdout_bytes, stderr: node.stderr_bytes };
  // What fails often says why on stderr alone.
  const telling = ended && written.stdout === 0 && (written.stderr ?? 0) > 0 ? 'stderr' : 'stdout';
  const stream = STREAMS.find((each) => each === query.get('stream')) ?? telling;
  return (
    <>
      <div class="output-bar">
        {choice}
        <Status look={JOB_NODE_LOOKS[node.status]} />
        <span class="quiet break">{endText(node)}</span>
        <StreamChoice
          stream={stream}
          onStream={(each) => setParameters({ stream: each, line: null })}
          more={(each) => written[each] !== null && <span class="quiet number">{bytes(written[each])}</span>}
        />
      </div>
      <Viewer
        key={`${name} ${stream}`}
        path={api.path(`/pushy/jobs/${job.id}/output/${encodeURIComponent(name)}/${stream}`)}
        fileName={`${shortId(job.id)}-${name}.${stream}`}
        goesOn={!ended && written[stream] !== 0}
      />
    </>
  );
}

/** Whose output is asked for first: of whichever failed, if any did. */
function tellingNode(nodes: readonly JobNode[]): string | undefined {
  const failed = nodes.find(({ status }) => status === 'failed' || status === 'crashed');
  return (failed ?? nodes.find(({ status }) => !DID_NOT_RUN.includes(status)) ?? nodes[0])?.node_name;
}

function Inside({ children }: { readonly children: ComponentChildren }) {
  return <div class="inside">{children}</div>;
}
