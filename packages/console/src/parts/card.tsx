import type { ComponentChildren } from 'preact';

export function Card({
  title,
  aside,
  children,
}: {
  readonly title: string;
  /** Beside the title. */
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  return (
    <section class="card">
      <header>
        <h2>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}
