import { Field } from './field.jsx';

interface Props {
  readonly id: string;
  readonly label: string;
  readonly hint?: string;
  readonly rows?: number;
  readonly value: string;
  readonly placeholder?: string;
  readonly wrong?: string | undefined;
  readonly onValue: (text: string) => void;
}

/** A text of several lines, with what stands in each, or what is wrong with one. */
export function LinesField({ id, label, hint, rows = 4, value, placeholder, wrong, onValue }: Props) {
  return (
    <Field id={id} label={label} hint={hint} wrong={wrong}>
      {(described) => (
        <textarea
          {...described}
          id={id}
          class="input mono"
          rows={rows}
          spellcheck={false}
          value={value}
          placeholder={placeholder}
          onInput={(event) => onValue(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}
