import type { May } from '../session/permissions.js';
import { Action } from './action.jsx';

interface Props {
  readonly label: string;
  readonly href: string;
  readonly may: May;
  readonly tone?: 'main-action' | '';
  readonly small?: boolean;
}

/** Leads to where something is done; for who may not do it, a button that says why not. */
export function LinkAction({ label, href, may, tone = '', small = false }: Props) {
  if (!may.may) return <Action label={label} may={may} small={small} onClick={() => {}} />;
  return (
    <a class={`button ${tone} ${small ? 'small' : ''}`} href={href}>
      {label}
    </a>
  );
}
