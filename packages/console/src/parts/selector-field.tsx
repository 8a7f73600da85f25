import { parseSelector, SelectorError } from '@muster/selector';
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { caretUnder } from './caret.js';

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
  readonly hint?: string;
  /** With every text that can be read, a moment after it was typed. */
  readonly onValue: (text: string) => void;
}

const MOMENT_MS = 250;

/** A filter in the one language of Muster; what is wrong with it is said below the character. */
export function SelectorField({ id, label, value, placeholder, sugar, words = [], hint, onValue }: Props) {
  const text = useSignal(value);
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  const sent = useRef(value);
  const send = useRef(onValue);
  send.current = onValue;
  useEffect(() => {
    if (value === sent.current) return;
    sent.current = value;
    text.value = value;
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current ?? undefined), []);
  const fault = faultOf(text.value, sugar);
  const settle = (): void => {
    if (timer.current !== null) clearTimeout(timer.current);
    timer.current = null;
    if (faultOf(text.value, sugar) !== null || text.value === sent.current) return;
    sent.current = text.value;
    send.current(text.value);
  };
  const last = /[\w.$-]*$/.exec(text.value)?.[0] ?? '';
  const offered = last.length === 0 ? [] : words.filter((word) => word.startsWith(last) && word !== last).slice(0, 8);
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
          text.value = event.currentTarget.value;
          if (timer.current !== null) clearTimeout(timer.current);
          timer.current = setTimeout(settle, MOMENT_MS);
        }}
        onBlur={settle}
        onKeyDown={(event) => {
          if (event.key === 'Enter') settle();
        }}
      />
      <datalist id={`${id}-words`}>
        {offered.map((word) => (
          <option key={word} value={text.value.slice(0, text.value.length - last.length) + word} />
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
