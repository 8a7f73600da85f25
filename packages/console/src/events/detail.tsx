import type { LiveEvent } from '../live/event.js';
import { place, setParameters } from '../navigation.js';
import { Pane } from '../parts/pane.jsx';
import { safeText } from '../parts/safe-text.js';
import { hrefOf } from '../route.js';
import { signedIn } from '../session/session.js';
import { aboutWhat, narrowings } from './about.js';

/** All that is known of one event, and what else is about the same. @param from Where those begin that it was among. */
export function Detail({ event, from }: { readonly event: LiveEvent; readonly from: string }) {
  const { org } = signedIn().api;
  // What began a second ago has left it behind.
  const since = from === '-1s' ? String(Math.max(0, event.position - 1)) : from;
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
          {aboutWhat(event)
            .filter(({ screen }) => hrefOf(org, screen) !== hrefOf(org, place.value.screen ?? { name: 'overview' }))
            .map(({ word, screen }) => (
              <a key={word} class="button small" href={hrefOf(org, screen)}>
                Open the {word}
              </a>
            ))}
          {narrowings(event).map(({ word, q }) => (
            <a key={word} class="button small" href={hrefOf(org, { name: 'events' }, { q, from: since })}>
              Only this {word}
            </a>
          ))}
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
