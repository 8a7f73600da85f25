/** Z85 (ZeroMQ RFC 32): five characters for four bytes; how CURVE keys are written as text. */
const ALPHABET = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#';

const VALUES: ReadonlyMap<string, number> = new Map(Array.from(ALPHABET, (character, value) => [character, value]));

const KEY_CHARACTERS = 40;
const MAX_UINT32 = 0xffff_ffff;

/** The 32 bytes of a CURVE key; null when it is not exactly 40 characters of Z85. */
export function z85Decode(text: string): Uint8Array | null {
  if (text.length !== KEY_CHARACTERS) return null;
  const bytes = Buffer.alloc((KEY_CHARACTERS / 5) * 4);
  for (let group = 0; group < KEY_CHARACTERS / 5; group++) {
    let word = 0;
    for (const character of text.slice(group * 5, group * 5 + 5)) {
      const value = VALUES.get(character);
      if (value === undefined) return null;
      word = word * 85 + value;
    }
    // Five characters reach beyond 32 bits: such a group has no bytes.
    if (word > MAX_UINT32) return null;
    bytes.writeUInt32BE(word, group * 4);
  }
  return bytes;
}

/** @throws RangeError unless the length is a multiple of four. */
export function z85Encode(bytes: Uint8Array): string {
  if (bytes.length % 4 !== 0) throw new RangeError('Z85 encodes whole groups of four bytes');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let text = '';
  for (let offset = 0; offset < bytes.length; offset += 4) {
    const word = view.getUint32(offset);
    for (let power = 85 ** 4; power >= 1; power /= 85) text += ALPHABET.charAt(Math.floor(word / power) % 85);
  }
  return text;
}
