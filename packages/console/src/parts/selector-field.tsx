import { parseSelector, SelectorError } from '@muster/selector';
import { caretUnder } from './caret.js';
import { completions } from './completions.js';
import { useTyped } from './typed.js';

export interface SelectorFault {
  readonly position: number;
  readonly reason: string;
  readonly hint: string;
}

/** Null: it can be read. `sugar`: with the short forms of searches for nodes, `role:web`. */
export function faultOf(text: string, sugar: boolean): SelectorFault | null {
  if (text.trim() === '') return null;
  try {
    parseSelector(text, { sugar });
    return null;
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    return error;
  }
}

interface Props {
  readonly id: string;
  readonly label: string;
  readonly value: string;
  readonly placeholder: string;
  readonly sugar: boolean;
  /** Words that are offered: attributes, types. */
  readonly words?: readonly string[];
  /** Values that are offered after the colon of an attribute. */
  readonly valuesOf?: (attribute: string) => readonly string[];
  readonly hint?: string;
  /** With every text that can be read, a moment after it was typed. */
  readonly onValue: (text: string) => void;
  /** For a form, which takes the text when the field is left, too: at once, whether what stands there now can be read. */
  readonly onReadable?: (readable: boolean) => void;
}

/** A filter in the one language of Muster; what is wrong with it is said below the character. */
export function SelectorField(props: Props) {
  const { id, label, value, placeholder, sugar, words = [], valuesOf, hint, onValue, onReadable } = props;
  const { text, type, settle } = useTyped(value, onValue, (typed) => faultOf(typed, sugar) === null);
  const fault = faultOf(text.value, sugar);
  const offered = completions(text.value, { words, ...(valuesOf !== undefined && { valuesOf }) });
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        class="input mono"
        data-filter
        value={text.value}
        placeholder={placeholder}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        aria-invalid={fault !== null}
        aria-describedby={fault !== null ? `${id}-fault` : hint === undefined ? undefined : `${id}-hint`}
        list={`${id}-words`}
        onInput={(event) => {
          type(event.currentTarget.value);
          onReadable?.(faultOf(event.currentTarget.value, sugar) === null);
        }}
        onBlur={onReadable === undefined ? undefined : settle}
        onKeyDown={(event) => {
          if (event.key === 'Enter') settle();
        }}
      />
      <datalist id={`${id}-words`}>
        {offered.map((whole) => (
          <option key={whole} value={whole} />
        ))}
      </datalist>
      {fault !== null ? (
        <div class="wrong" id={`${id}-fault`} role="status">
          <pre aria-hidden="true">{caretUnder(text.value, fault.position)}</pre>
          At character {fault.position + 1}: {fault.reason}. {fault.hint}
        </div>
      ) : (
        hint !== undefined && (
          <span class="hint" id={`${id}-hint`}>
            {hint}
          </span>
        )
      )}
    </div>
  );
}
