/** What a peer sent is not ZMTP, or more than it may send: its connection is closed, and only that. */
export class ProtocolError extends Error {}
