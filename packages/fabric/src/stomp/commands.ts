/** Every command of STOMP 1.0 to 1.2; true where a body may follow. */
const BODIES = {
  CONNECT: false,
  STOMP: false,
  CONNECTED: false,
  SEND: true,
  SUBSCRIBE: false,
  UNSUBSCRIBE: false,
  ACK: false,
  NACK: false,
  BEGIN: false,
  COMMIT: false,
  ABORT: false,
  DISCONNECT: false,
  MESSAGE: true,
  RECEIPT: false,
  ERROR: true,
} as const;

export type Command = keyof typeof BODIES;

export interface CommandLine {
  readonly command: Command;
  readonly codes: Uint8Array;
  readonly body: boolean;
}

/** By first byte, so that most are told apart by it alone. */
export const COMMANDS: readonly (readonly CommandLine[] | undefined)[] = byFirstByte();

function byFirstByte(): CommandLine[][] {
  const lines: CommandLine[][] = [];
  for (const [command, body] of Object.entries(BODIES) as [Command, boolean][]) {
    const codes = Uint8Array.from(command, (char) => char.charCodeAt(0));
    const first = command.charCodeAt(0);
    lines[first] = [...(lines[first] ?? []), { command, codes, body }];
  }
  return lines;
}
