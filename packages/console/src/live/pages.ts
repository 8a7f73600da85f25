import { useSignal } from '@preact/signals';

/** How many pages of a list are read: one, until somebody asks for more of what has this filter. */
export function usePages(filter: string): { readonly value: number; readonly more: () => void } {
  const asked = useSignal({ filter, pages: 1 });
  const value = asked.value.filter === filter ? asked.value.pages : 1;
  return {
    value,
    more: () => {
      asked.value = { filter, pages: value + 1 };
    },
  };
}
