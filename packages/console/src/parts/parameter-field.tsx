import type { Parameter } from '../runbooks/parameters.js';
import { safeText } from './safe-text.js';

/** A field for a parameter by its type. @param wrong What is wrong with its value. */
export function ParameterField({
  parameter: { name, type, description, required, choices, min, max, whole },
  value,
  wrong,
  onValue,
}: {
  readonly parameter: Parameter;
  readonly value: string;
  readonly wrong: string | undefined;
  readonly onValue: (value: string) => void;
}) {
  const id = `parameter-${name}`;
  const common = { id, class: 'input', value, 'aria-invalid': wrong !== undefined, 'aria-describedby': `${id}-hint` };
  const range = [...(min === null ? [] : [`from ${min}`]), ...(max === null ? [] : [`to ${max}`])].join(' ');
  const hint = [description, range, required ? '' : 'may be left out'].filter((text) => text !== '').join('; ');
  return (
    <div class="field">
      <label for={id}>{safeText(name)}</label>
      {type === 'choice' ? (
        <select {...common} onChange={(event) => onValue(event.currentTarget.value)}>
          {(value === '' || !required) && <option value="">–</option>}
          {choices.map((choice) => (
            <option key={choice} value={choice}>
              {safeText(choice)}
            </option>
          ))}
        </select>
      ) : type === 'file' ? (
        <textarea {...common} rows={4} spellcheck={false} onInput={(event) => onValue(event.currentTarget.value)} />
      ) : type === 'secret' ? (
        <input
          {...common}
          type="password"
          autocomplete="new-password"
          onInput={(event) => onValue(event.currentTarget.value)}
        />
      ) : (
        <input
          {...common}
          inputMode={type === 'number' ? (whole ? 'numeric' : 'decimal') : undefined}
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => onValue(event.currentTarget.value)}
        />
      )}
      <span class={wrong === undefined ? 'hint' : 'wrong'} id={`${id}-hint`}>
        {wrong ?? safeText(hint)}
      </span>
    </div>
  );
}
