import { attribute, type LiveEvent } from '../live/event.js';
import { setParameters } from '../navigation.js';
import { Pane } from '../parts/pane.jsx';
import { safeText } from '../parts/safe-text.js';
import { hrefOf } from '../route.js';
import { signedIn } from '../session/session.js';

/** All that is known of one event, and what else is about the same. */
export function Detail({ event }: { readonly event: LiveEvent }) {
  const { org } = signedIn().api;
  const job = attribute(event, 'job');
  const node = attribute(event, 'node');
  const own = event.type.startsWith('push.');
  const only = (name: string, value: string) =>
    setParameters({ q: `${name} = '${value.replaceAll("'", "''")}'`, event: null }, { replace: false });
  return (
    <Pane
      label="The event"
      title={<span class="mono">{safeText(event.type)}</span>}
      onClose={() => setParameters({ event: null })}
    >
      <div class="inside event">
        <dl class="facts">
          <dt>position</dt>
          <dd>{event.position}</dd>
          <dt>time</dt>
          <dd>{new Date(event.at).toISOString()}</dd>
          <dt>source</dt>
          <dd>{safeText(event.source)}</dd>
          {event.attributes
            .filter(([name]) => name !== 'type')
            .map(([name, value]) => (
              <>
                <dt class="break">{safeText(name)}</dt>
                <dd>{safeText(value)}</dd>
              </>
            ))}
        </dl>
        {event.body !== '' && (
          <section class="shown" aria-label="Body">
            <pre>{safeText(pretty(event.body))}</pre>
          </section>
        )}
        <div class="actions">
          {own && job !== null && (
            <a class="button small" href={hrefOf(org, { name: 'job', id: job })}>
              Open the job
            </a>
          )}
          {node !== null && (
            <a class="button small" href={hrefOf(org, { name: 'node', node })}>
              Open the node
            </a>
          )}
          {job !== null && (
            <button type="button" class="button small" onClick={() => only('job', job)}>
              Only this job
            </button>
          )}
          {node !== null && (
            <button type="button" class="button small" onClick={() => only('node', node)}>
              Only this node
            </button>
          )}
          <button type="button" class="button small" onClick={() => only('type', event.type)}>
            Only this type
          </button>
        </div>
      </div>
    </Pane>
  );
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
