import { useSignal } from '@preact/signals';
import { Command } from '../parts/command.jsx';
import { Confirm } from '../parts/confirm.jsx';
import { LinesField } from '../parts/lines-field.jsx';
import { OptionField } from '../parts/option-field.jsx';
import { signedIn } from '../session/session.js';
import { type Draft, EMPTY_DRAFT, publishCommand, readDraft } from './new-event.js';

/** Publishes an event, now or later. Who may publish what is known to the server alone. */
export function Publish({ onClose }: { readonly onClose: () => void }) {
  const { live } = signedIn();
  const draft = useSignal<Draft>(EMPTY_DRAFT);
  const { event, wrong } = readDraft(draft.value, Date.now());
  const set = (changed: Partial<Draft>): void => {
    draft.value = { ...draft.value, ...changed };
  };
  return (
    <Confirm
      title="Publish an event"
      action="Publish it"
      tone="main-action"
      off={event.type === '' || Object.keys(wrong).length > 0}
      onConfirm={() => live.publish(readDraft(draft.value, Date.now()).event)}
      onClose={onClose}
    >
      <OptionField
        id="event-type"
        label="Type"
        hint="temp.high; those of Muster itself are for nobody"
        value={draft.value.type}
        onValue={(type) => set({ type })}
      />
      <LinesField
        id="event-attributes"
        label="Attributes"
        hint="name=value, one a line; selectors find them"
        rows={3}
        value={draft.value.attributes}
        placeholder={'host=db1\ncelsius=81'}
        wrong={wrong.attributes}
        onValue={(attributes) => set({ attributes })}
      />
      <LinesField id="event-body" label="Body" rows={3} value={draft.value.body} onValue={(body) => set({ body })} />
      <OptionField
        id="event-at"
        label="When"
        hint="+10m, or 2026-11-20T12:00:00Z; now unless given"
        value={draft.value.at}
        wrong={wrong.at}
        onValue={(at) => set({ at })}
      />
      <Command text={publishCommand(draft.value)} />
    </Confirm>
  );
}
