/** Whether somebody may do something, and if not, why. */
export type May = { readonly may: true } | { readonly may: false; readonly why: string };

/**
 * By the permissions that the session has told. An action that is not allowed is shown with the reason; the server decides
 * about every request, whatever is shown.
 */
export function may(permissions: readonly string[], name: string): May {
  return permissions.includes(name) ? { may: true } : { may: false, why: `you need the permission ${name}` };
}
