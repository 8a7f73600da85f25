/** Why nobody can log in with what is given as a private key. */
export interface KeyTrouble {
  /** As what follows "it". */
  readonly text: string;
  /** It is one, but closed: it needs a passphrase. */
  readonly locked: boolean;
}

/** null: it is a private key, which this passphrase opens where it needs one. */
export async function keyTrouble(text: string, passphrase?: string): Promise<KeyTrouble | null> {
  const ssh2 = await import('ssh2');
  // What is bundled requires it, and has no default then; without a bundle this is there alone.
  const { utils } = ssh2.default ?? ssh2;
  const parsed = utils.parseKey(text, passphrase);
  if (!(parsed instanceof Error)) {
    const [key] = Array.isArray(parsed) ? parsed : [parsed];
    if (key?.isPrivateKey() === true) return null;
    return { locked: false, text: 'is a public key: give the private one, which is the file without .pub' };
  }
  const { message } = parsed;
  if (message.includes('no passphrase given')) {
    const ways = 'give the passphrase as --password-secret (password_secret), or take it off: ssh-keygen -p -f FILE';
    return { locked: true, text: `is closed with a passphrase: ${ways}` };
  }
  if (/passphrase|decrypt/.test(message))
    return { locked: true, text: 'is closed with another passphrase than that of --password-secret (password_secret)' };
  const way = 'give one of OpenSSH, into which ssh-keygen -p -f FILE turns others';
  return { locked: false, text: `is no private key that can be read (${message}): ${way}` };
}
