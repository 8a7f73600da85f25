const BUSY = 'Too many sign in now, or have tried to in vain from where you are. Wait a minute, then begin again.';
const AWAY =
  'Nobody can be signed in there now. Try again in a moment; administrators find the reason in the log of the server.';

/** By the code of the error: what to do where somebody comes back from a provider and is not signed in. */
const FAILED: Readonly<Record<string, string>> = {
  sign_in_denied:
    'The provider has signed nobody in: it refused, or it was broken off there. Begin again, and agree to it; if it still refuses, ask whoever runs the provider.',
  sign_in_expired:
    'The sign-in took longer than ten minutes, was begun in another browser, or is over. Begin it again.',
  sign_in_unknown_user:
    'The provider knows you, but in the organization nobody of your name may sign in. Ask its administrators to make or invite you.',
  sign_in_not_offered: 'Nobody signs in there. Ask the administrators of the organization where one does.',
  invalid_jwt:
    'What the provider says of you is not accepted here. Begin again; if that does not help, administrators find the reason in the audit.',
  jwt_for_other:
    'The provider names you to another client than the one that is set here. Beginning again does not help: administrators find in the audit which, and set it with `muster issuer set NAME --client-id ID`.',
  provider_unavailable: AWAY,
  issuer_unavailable: AWAY,
  sign_in_throttled: BUSY,
  rate_limited: BUSY,
  too_busy: BUSY,
};

export function whyFailed(code: string): string {
  return (
    FAILED[code] ?? `You could not be signed in (${code}). Begin again; if that does not help, ask an administrator.`
  );
}
