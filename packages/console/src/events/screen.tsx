import { parseFrom } from '@muster/fabric/client';
import { place, setParameters } from '../navigation.js';
import { Command } from '../parts/command.jsx';
import { Note } from '../parts/note.jsx';
import { safeText } from '../parts/safe-text.js';
import { faultOf, SelectorField } from '../parts/selector-field.jsx';
import { musterCommand } from '../parts/shell.js';
import { Following } from './following.jsx';
import { WORDS } from './words.js';

const FROMS = [
  ['', 'now on'],
  ['-10m', 'the last 10 minutes'],
  ['-1h', 'the last hour'],
  ['-1d', 'the last day'],
  ['first', 'the oldest kept'],
] as const;

/** Follow what happens, by what it is about. */
export function EventsScreen() {
  const { query } = place.value;
  const q = query.get('q') ?? '';
  const from = query.get('from') ?? '';
  const wrongFrom = from !== '' && parseFrom(from) === null;
  const readable = faultOf(q, false) === null;
  const listed = FROMS.some(([value]) => value === from);
  return (
    <>
      <div class="head">
        <div class="title">
          <h1>Events</h1>
        </div>
      </div>
      <div class="filters">
        <div class="grow">
          <SelectorField
            id="events-filter"
            label="Which events"
            value={q}
            placeholder="type LIKE 'push.%' AND status = 'failure'"
            sugar={false}
            words={WORDS}
            onValue={(text) => setParameters({ q: text, event: null })}
          />
        </div>
        <div class="field">
          <label for="events-from">From</label>
          <select
            id="events-from"
            class="input"
            value={from}
            onChange={(event) => setParameters({ from: event.currentTarget.value, event: null })}
          >
            {FROMS.map(([value, word]) => (
              <option key={value} value={value}>
                {word}
              </option>
            ))}
            {!listed && <option value={from}>{from}</option>}
          </select>
        </div>
      </div>
      {wrongFrom ? (
        <Note>“{safeText(from)}” is no place to begin: a position, a time with its zone, -1h, or first.</Note>
      ) : (
        readable && (
          <Following
            key={`${from} ${q}`}
            q={q}
            from={from}
            none={
              q === ''
                ? 'Whatever happens from now on appears here.'
                : 'No event matches so far. What matches appears here as it happens.'
            }
          />
        )
      )}
      <Command
        text={musterCommand('event', 'watch', ...(from === '' ? [] : ['--from', from]), ...(q === '' ? [] : [q]))}
      />
    </>
  );
}
