import type { May } from '../session/permissions.js';

interface Props {
  readonly label: string;
  readonly onClick: () => void;
  readonly may?: May;
  readonly tone?: 'main-action' | 'danger' | '';
  readonly busy?: boolean;
  readonly small?: boolean;
}

/** What somebody may not do is shown, and why not. */
export function Action({ label, onClick, may = { may: true }, tone = '', busy = false, small = false }: Props) {
  const off = busy || !may.may;
  return (
    <button
      type="button"
      class={`button ${tone} ${small ? 'small' : ''}`}
      aria-disabled={off}
      title={may.may ? undefined : may.why}
      onClick={() => {
        if (!off) onClick();
      }}
    >
      {label}
      {!may.may && <span class="unseen">: {may.why}</span>}
    </button>
  );
}
