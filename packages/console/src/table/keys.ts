import { signal } from '@preact/signals';

/** Keys without Ctrl or Alt can be turned off (WCAG 2.1.4): speech input types them by accident. */
const SETTING = 'muster.single-keys';

export const singleKeys = signal(stored() !== 'off');

function stored(): string | null {
  try {
    return localStorage.getItem(SETTING);
  } catch {
    return null;
  }
}

export function setSingleKeys(on: boolean): void {
  singleKeys.value = on;
  try {
    localStorage.setItem(SETTING, on ? 'on' : 'off');
  } catch {
    // Then it is good for this page alone.
  }
}

/** Whether somebody is typing a text. */
export function typing(event: KeyboardEvent): boolean {
  const { target } = event;
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement)
    return true;
  return target instanceof HTMLInputElement && !['checkbox', 'radio', 'button'].includes(target.type);
}

/** A single key that is meant as one. */
export function plainKey(event: KeyboardEvent): string | null {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event)) return null;
  return event.key.length === 1 && !singleKeys.value ? null : event.key;
}
