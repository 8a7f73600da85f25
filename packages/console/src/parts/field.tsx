import type { ComponentChildren } from 'preact';

interface Props {
  readonly id: string;
  readonly label: string;
  /** What may stand there. */
  readonly hint?: string | undefined;
  /** What is wrong with what does; it is told in the place of the hint. */
  readonly wrong?: string | undefined;
  readonly children: (described: {
    readonly 'aria-invalid': boolean;
    readonly 'aria-describedby': string | undefined;
  }) => ComponentChildren;
}

/** Something to be filled in, with its label and what is told of it. */
export function Field({ id, label, hint, wrong, children }: Props) {
  const told = wrong ?? hint;
  const toldBy = `${id}-hint`;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ 'aria-invalid': wrong !== undefined, 'aria-describedby': told === undefined ? undefined : toldBy })}
      {told !== undefined && (
        <span class={wrong === undefined ? 'hint' : 'wrong'} id={toldBy}>
          {told}
        </span>
      )}
    </div>
  );
}
