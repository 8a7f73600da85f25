const BASIC = /^Basic +([A-Za-z0-9+/=]{1,2048})$/i;
const LOGIN = /^([^:]{1,255}):(.{1,512})$/s;

/** The header speaks of HTTP basic, whatever else it says. */
export function isBasic(authorization: string | undefined): boolean {
  return /^Basic(?: |$)/i.test(authorization ?? '');
}

/** The user's name and the access token of HTTP basic; null: there are none. */
export function basicLogin(
  authorization: string | undefined,
): { readonly name: string; readonly token: string } | null {
  const [, text = ''] = BASIC.exec(authorization ?? '') ?? [];
  const [, name, token] = LOGIN.exec(Buffer.from(text, 'base64').toString()) ?? [];
  return name === undefined || token === undefined ? null : { name, token };
}
