interface Props {
  readonly id: string;
  readonly label: string;
  readonly value: string;
  readonly placeholder: string;
  /** `/` leads to it. */
  readonly first?: boolean;
  /** With what was typed, when whoever typed goes on. */
  readonly onValue: (text: string) => void;
}

/** A filter by a text that the server looks for. */
export function TextFilter({ id, label, value, placeholder, first = false, onValue }: Props) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        class="input"
        value={value}
        placeholder={placeholder}
        autocomplete="off"
        spellcheck={false}
        {...(first && { 'data-filter': true })}
        onChange={(event) => onValue(event.currentTarget.value.trim())}
      />
    </div>
  );
}
