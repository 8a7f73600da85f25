import { Field } from './field.jsx';

interface Props {
  readonly id: string;
  readonly label: string;
  readonly hint?: string;
  readonly value: string;
  readonly placeholder?: string;
  readonly wrong?: string | undefined;
  readonly onValue: (text: string) => void;
}

/** A short text that may be left out, with what may stand there, or what is wrong with what does. */
export function OptionField({ id, label, hint, value, placeholder, wrong, onValue }: Props) {
  return (
    <Field id={id} label={label} hint={hint} wrong={wrong}>
      {(described) => (
        <input
          {...described}
          id={id}
          class="input"
          value={value}
          placeholder={placeholder}
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => onValue(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}
