import { generateKeyPairSync, type JsonWebKey, type KeyObject } from 'node:crypto';
import { SignJWT } from 'jose';

/** Somebody who issues tokens. */
export interface TestIssuer {
  readonly privateKey: KeyObject;
  /** PEM. */
  readonly publicKey: string;
  readonly jwk: JsonWebKey;
}

export function newIssuer(kid?: string): TestIssuer {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwk = { ...publicKey.export({ format: 'jwk' }), ...(kid !== undefined && { kid }) };
  return { privateKey, publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString(), jwk };
}

/** Claims of WSO2, as Agave's gateways set them. */
export const wso2 = (user: string, tenant: string, more: object = {}) => ({
  'http://wso2.org/claims/enduser': user,
  'http://wso2.org/claims/enduserTenantId': tenant,
  'http://wso2.org/claims/role': 'Internal/everyone,Internal/jobs',
  ...more,
});

/** A signed token. @param nowMs It is good for an hour from then. */
export async function issue(
  { privateKey }: Pick<TestIssuer, 'privateKey'>,
  nowMs: number,
  claims: Readonly<Record<string, unknown>>,
  header: { readonly alg?: string; readonly kid?: string } = {},
): Promise<string> {
  const exp = Math.floor(nowMs / 1000) + 3600;
  const payload = Object.fromEntries(Object.entries({ exp, ...claims }).filter(([, value]) => value !== undefined));
  return new SignJWT(payload).setProtectedHeader({ alg: 'RS256', ...header }).sign(privateKey);
}
