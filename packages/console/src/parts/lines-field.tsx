interface Props {
  readonly id: string;
  readonly label: string;
  readonly hint?: string;
  readonly rows?: number;
  readonly value: string;
  readonly placeholder?: string;
  readonly wrong?: string | undefined | null;
  readonly onValue: (text: string) => void;
}

/** A text of several lines, with what stands in each, or what is wrong with one. */
export function LinesField({ id, label, hint, rows = 4, value, placeholder, wrong, onValue }: Props) {
  const told = wrong ?? hint;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        class="input mono"
        rows={rows}
        spellcheck={false}
        value={value}
        placeholder={placeholder}
        aria-invalid={typeof wrong === 'string'}
        aria-describedby={told === undefined ? undefined : `${id}-hint`}
        onInput={(event) => onValue(event.currentTarget.value)}
      />
      {told !== undefined && (
        <span class={typeof wrong === 'string' ? 'wrong' : 'hint'} id={`${id}-hint`}>
          {told}
        </span>
      )}
    </div>
  );
}
