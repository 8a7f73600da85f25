import { useSignal } from '@preact/signals';
import type { Balance } from '../api/types.gen.js';
import { Command } from '../parts/command.jsx';
import { Confirm } from '../parts/confirm.jsx';
import { LinesField } from '../parts/lines-field.jsx';
import { OptionField } from '../parts/option-field.jsx';
import { quoted } from '../parts/shell.js';
import { signedIn } from '../session/session.js';
import { linesOfPlan, type PlanLines, planOfLines } from './plan-lines.js';

interface Props {
  readonly balance: Balance;
  readonly onSaved: () => void;
  readonly onClose: () => void;
}

/** Says how threads are shared out over queues. */
export function ChangePlan({ balance, onSaved, onClose }: Props) {
  const { api } = signedIn();
  const lines = useSignal<PlanLines>(linesOfPlan(balance, Date.now()));
  const { plan, wrong } = planOfLines(lines.value, balance.known_queues, Date.now());
  const set = (changed: Partial<PlanLines>): void => {
    lines.value = { ...lines.value, ...changed };
  };
  return (
    <Confirm
      title="How threads are shared out"
      action="Save"
      tone="main-action"
      off={Object.keys(wrong).length > 0}
      onConfirm={async () => {
        await api.post('/disbatch/balance', plan);
        onSaved();
      }}
      onClose={onClose}
    >
      <LinesField
        id="plan-times"
        label="Tasks at most"
        hint="a line for each time of the day from which on it holds: every day 07:00 5, or Sunday 07:00 5"
        value={lines.value.times}
        wrong={wrong.times}
        onValue={(times) => set({ times })}
      />
      <LinesField
        id="plan-queues"
        label="Queues, those first that come first"
        hint="a line for each group; the last one gets what is left"
        value={lines.value.queues}
        wrong={wrong.queues}
        onValue={(queues) => set({ queues })}
      />
      <OptionField
        id="plan-disabled"
        label="Balance nothing until"
        hint="+2h, or 2026-11-20T12:00:00Z; it goes on unless given"
        value={lines.value.disabled}
        wrong={wrong.disabled}
        onValue={(disabled) => set({ disabled })}
      />
      <Command text={`echo ${quoted(JSON.stringify(plan))} > plan.json && muster queue balance --set plan.json`} />
    </Confirm>
  );
}
