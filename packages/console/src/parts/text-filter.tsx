import { useTyped } from './typed.js';

interface Props {
  readonly id: string;
  readonly label: string;
  readonly value: string;
  readonly placeholder: string;
  /** `/` leads to it. */
  readonly first?: boolean;
  /** With what was typed, a moment later. */
  readonly onValue: (text: string) => void;
}

/** A filter by a text that the server looks for. */
export function TextFilter({ id, label, value, placeholder, first = false, onValue }: Props) {
  // Not when the field is left: what was clicked for that would be gone before the button of the mouse comes up.
  const { text, type, settle } = useTyped(value, onValue);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        class="input"
        value={text.value}
        placeholder={placeholder}
        autocomplete="off"
        spellcheck={false}
        {...(first && { 'data-filter': true })}
        onInput={(event) => type(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') settle();
        }}
      />
    </div>
  );
}
