import { LinkAction } from '../parts/link-action.jsx';
import { hrefOf } from '../route.js';
import { mayI, signedIn } from '../session/session.js';

/** Leads to a new push job. */
export function NewJob() {
  const { org } = signedIn().api;
  return (
    <LinkAction
      label="New push job"
      tone="main-action"
      may={mayI('push:execute')}
      href={hrefOf(org, { name: 'new-job' })}
    />
  );
}
