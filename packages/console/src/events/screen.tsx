import { parseFrom } from '@muster/fabric/client';
import { useSignal } from '@preact/signals';
import { place, setParameters } from '../navigation.js';
import { Action } from '../parts/action.jsx';
import { Command } from '../parts/command.jsx';
import { Note } from '../parts/note.jsx';
import { safeText } from '../parts/safe-text.js';
import { faultOf, SelectorField } from '../parts/selector-field.jsx';
import { musterCommand } from '../parts/shell.js';
import { TextFilter } from '../parts/text-filter.jsx';
import { Following } from './following.jsx';
import { Publish } from './publish.jsx';
import { WORDS } from './words.js';

/** Whoever comes sees what has just happened. */
const LATELY = '-10m';

const FROMS = [
  [LATELY, 'the last 10 minutes'],
  ['-1s', 'now on'],
  ['-1h', 'the last hour'],
  ['-1d', 'the last day'],
  ['first', 'the oldest kept'],
] as const;

const OTHER = 'other';

/** Follow what happens, by what it is about. */
export function EventsScreen() {
  const { query } = place.value;
  const q = query.get('q') ?? '';
  const given = query.get('from') ?? '';
  const from = given === '' ? LATELY : given;
  const wrongFrom = parseFrom(from) === null;
  const readable = faultOf(q, false) === null;
  const publishing = useSignal(false);
  return (
    <>
      <div class="head">
        <div class="title">
          <h1>Events</h1>
        </div>
        <div class="actions">
          <Action label="Publish …" onClick={() => (publishing.value = true)} />
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
        <From from={from} />
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
                ? 'Whatever happens appears here.'
                : 'No event matches so far. What matches appears here as it happens.'
            }
          />
        )
      )}
      <Command text={musterCommand('event', 'watch', '--from', from, ...(q === '' ? [] : [q]))} />
      {publishing.value && <Publish onClose={() => (publishing.value = false)} />}
    </>
  );
}

/** Where events begin: one of a few times, or whatever is typed. */
function From({ from }: { readonly from: string }) {
  const listed = FROMS.some(([value]) => value === from);
  const typing = useSignal(!listed);
  const begin = (text: string): void => setParameters({ from: text, event: null });
  return (
    <>
      <div class="field">
        <label for="events-from">From</label>
        <select
          id="events-from"
          class="input"
          value={typing.value || !listed ? OTHER : from}
          onChange={({ currentTarget: { value } }) => {
            typing.value = value === OTHER;
            if (value !== OTHER) begin(value);
          }}
        >
          {FROMS.map(([value, word]) => (
            <option key={value} value={value}>
              {word}
            </option>
          ))}
          <option value={OTHER}>a position or time …</option>
        </select>
      </div>
      {(typing.value || !listed) && (
        <TextFilter
          id="events-from-text"
          label="Position or time"
          value={from}
          placeholder="4711, -3h or 2026-11-20T12:00Z"
          onValue={begin}
        />
      )}
    </>
  );
}
