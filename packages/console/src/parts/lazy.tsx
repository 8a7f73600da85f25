import { useSignal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { Note, Waiting } from './note.jsx';

/** A screen that is fetched when somebody first goes there. */
export function lazy<Props extends object>(fetch: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let fetched: ComponentType<Props> | null = null;
  return function Lazy(props: Props) {
    const screen = useSignal<{ readonly is: ComponentType<Props> } | 'failed' | null>(
      fetched === null ? null : { is: fetched },
    );
    useEffect(() => {
      if (fetched !== null) return;
      fetch().then(
        (is) => {
          fetched = is;
          screen.value = { is };
        },
        () => {
          screen.value = 'failed';
        },
      );
    }, []);
    if (screen.value === null) return <Waiting what="the page" />;
    if (screen.value === 'failed') {
      return (
        <Note tone="bad">
          <strong>This page cannot be fetched.</strong>
          <span>The server is away, or has become another version since this one was loaded.</span>
          <span>
            <button type="button" class="button small" onClick={() => location.reload()}>
              Load the console again
            </button>
          </span>
        </Note>
      );
    }
    const { is: Screen } = screen.value;
    return <Screen {...props} />;
  };
}
