import { createPrivateKey, type KeyObject, sign, verify } from 'node:crypto';

/** What somebody vouches for who signs a script: its bytes, its arguments, and the organization in which it may run. */
export interface SignedScript {
  readonly org: string;
  /** 64 digits of 0-9 and a-f. */
  readonly sha256: string;
  readonly args: readonly string[];
}

/** The text that is signed. As JSON, so that no argument can be taken for another. */
function statement({ org, sha256, args }: SignedScript): Buffer {
  return Buffer.from(JSON.stringify(['muster-script-1', org, sha256, ...args]));
}

/** @returns The signature, base64. */
export function signScript(script: SignedScript, privateKey: string): string {
  return sign('sha256', statement(script), createPrivateKey(privateKey)).toString('base64');
}

/** Does the owner of this key vouch for the script? Nothing about the signature makes it throw. */
export function verifyScript(script: SignedScript, signature: string, publicKey: KeyObject): boolean {
  try {
    return verify('sha256', statement(script), publicKey, Buffer.from(signature, 'base64'));
  } catch {
    return false;
  }
}
