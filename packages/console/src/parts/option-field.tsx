/** A short text that may be left out, with what may stand there, or what is wrong with what does. */
export function OptionField({
  id,
  label,
  hint,
  value,
  wrong,
  onValue,
}: {
  readonly id: string;
  readonly label: string;
  readonly hint?: string;
  readonly value: string;
  readonly wrong?: string | undefined;
  readonly onValue: (text: string) => void;
}) {
  const told = wrong ?? hint;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        class="input"
        value={value}
        autocomplete="off"
        spellcheck={false}
        aria-invalid={wrong !== undefined}
        aria-describedby={told === undefined ? undefined : `${id}-hint`}
        onInput={(event) => onValue(event.currentTarget.value)}
      />
      {told !== undefined && (
        <span class={wrong === undefined ? 'hint' : 'wrong'} id={`${id}-hint`}>
          {told}
        </span>
      )}
    </div>
  );
}
