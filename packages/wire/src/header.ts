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

/** Clause order is free, unknown clauses are ignored, the last of several wins; null without a known version. */
export function parseHeader(frame: Uint8Array): ParsedHeader | null {
  const clauses = new Map<string, string>();
  for (const clause of Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength).toString('latin1').split(';')) {
    const colon = clause.indexOf(':');
    if (colon < 0) continue;
    const key = clause.slice(0, colon);
    clauses.set(key === 'SignedChecksum' ? 'Signature' : key, clause.slice(colon + 1));
  }
  const version = clauses.get('Version');
  if (version !== '1.0' && version !== '2.0' && version !== '3.0') return null;
  const method = clauses.get('SigningMethod');
  const sequence = clauses.get('Sequence') ?? '';
  return {
    version,
    method: method === 'hmac_sha256' || method === 'rsa2048_sha1' ? method : null,
    signature: clauses.get('Signature') ?? null,
    signature256: clauses.get('Signature256') ?? null,
    checksum: clauses.get('Checksum') ?? null,
    sequence: SEQUENCE.test(sequence) && Number.isSafeInteger(Number(sequence)) ? Number(sequence) : null,
  };
}
