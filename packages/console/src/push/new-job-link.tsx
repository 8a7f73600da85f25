import { hrefOf } from '../route.js';
import { mayI, signedIn } from '../session/session.js';

/** Leads to a new push job. */
export function NewJob() {
  const { org } = signedIn().api;
  const allowed = mayI('push:execute');
  return allowed.may ? (
    <a class="button main-action" href={hrefOf(org, { name: 'new-job' })}>
      New push job
    </a>
  ) : (
    <button type="button" class="button" aria-disabled="true" title={allowed.why}>
      New push job<span class="unseen">: {allowed.why}</span>
    </button>
  );
}
