/**
 * The header frame: clauses separated by `;`, key and value by the first `:` (Push Jobs §7.1.1, sheet §3.3).
 * `1.0` is the spec's, `2.0` the deployed one, `3.0` ours.
 */
export type Header =
  | { readonly version: '1.0'; readonly checksum: string }
  | {
      readonly version: '2.0';
      readonly method: 'hmac_sha256' | 'rsa2048_sha1';
      readonly signature: string;
      /** RSA-SHA256 over the body, beside the SHA-1 one, on server heartbeats of ours. */
      readonly signature256?: string;
    }
  | { readonly version: '3.0'; readonly sequence: number; readonly signature: string };

/** A header with a known version, which may still lack what verification needs. */
export interface ParsedHeader {
  readonly version: Header['version'];
  /** Null when absent or unknown: fails later, as a bad signature (sheet §3.5). */
  readonly method: 'hmac_sha256' | 'rsa2048_sha1' | null;
  readonly signature: string | null;
  readonly signature256: string | null;
  readonly checksum: string | null;
  readonly sequence: number | null;
}

export function formatHeader(header: Header): Uint8Array {
  return Buffer.from(headerText(header), 'latin1');
}

function headerText(header: Header): string {
  switch (header.version) {
    case '1.0':
      return `Version:1.0;Checksum:${header.checksum}`;
    case '2.0': {
      const text = `Version:2.0;SigningMethod:${header.method};Signature:${header.signature}`;
      return header.signature256 === undefined ? text : `${text};Signature256:${header.signature256}`;
    }
    case '3.0':
      return `Version:3.0;SigningMethod:hmac_sha256;Sequence:${header.sequence};Signature:${header.signature}`;
  }
}

const SEQUENCE = /^[1-9]\d{0,15}$/;

/** Clause order is free, unknown clauses are ignored, the last of several wins; null without a known version. Made for each message: no clause is kept. */
export function parseHeader(frame: Uint8Array): ParsedHeader | null {
  const text = Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength).toString('latin1');
  let version = '';
  let method = '';
  let sequence = '';
  let signature: string | null = null;
  let signature256: string | null = null;
  let checksum: string | null = null;
  // The next one from where it is read: looked for once, however many clauses have none.
  let colon = text.indexOf(':');
  for (let at = 0; colon >= 0; ) {
    const semicolon = text.indexOf(';', at);
    const end = semicolon < 0 ? text.length : semicolon;
    if (colon < end) {
      const value = text.slice(colon + 1, end);
      switch (text.slice(at, colon)) {
        case 'Version':
          version = value;
          break;
        case 'SigningMethod':
          method = value;
          break;
        case 'Sequence':
          sequence = value;
          break;
        case 'Signature':
        case 'SignedChecksum':
          signature = value;
          break;
        case 'Signature256':
          signature256 = value;
          break;
        case 'Checksum':
          checksum = value;
          break;
      }
      colon = text.indexOf(':', end);
    }
    at = end + 1;
  }
  if (version !== '1.0' && version !== '2.0' && version !== '3.0') return null;
  return {
    version,
    method: method === 'hmac_sha256' || method === 'rsa2048_sha1' ? method : null,
    signature,
    signature256,
    checksum,
    sequence: SEQUENCE.test(sequence) && Number.isSafeInteger(Number(sequence)) ? Number(sequence) : null,
  };
}
