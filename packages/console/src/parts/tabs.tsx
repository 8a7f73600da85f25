import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

/** Views of one thing. Where they do not all fit, the chosen one is moved to where it is seen. */
export function Tabs({
  label,
  chosen,
  bare = false,
  children,
}: {
  readonly label: string;
  readonly chosen: string;
  readonly bare?: boolean;
  readonly children: ComponentChildren;
}) {
  const nav = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const { current: all } = nav;
    const tab = all?.querySelector<HTMLElement>('[aria-current]');
    if (all === null || !tab) return;
    all.scrollLeft = tab.offsetLeft - all.offsetLeft - (all.clientWidth - tab.offsetWidth) / 2;
  }, [chosen]);
  return (
    <nav ref={nav} class={bare ? 'tabs bare' : 'tabs'} aria-label={label}>
      {children}
    </nav>
  );
}
