import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

/** A mail as it was handed over. */
export interface TakenMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Unfolded, in their order. */
  readonly headers: readonly string[];
  /** Decoded. */
  readonly text: string;
}

/** A mail server on a real socket: it takes whatever it is brought (RFC 5321), and keeps it. */
export class MailServer {
  readonly mails: TakenMail[] = [];
  /** What it says to readers instead of taking mail for them, such as `550 no such user`. */
  refusal: string | null = null;
  readonly #sockets = new Set<Socket>();
  readonly #server: Server = createServer((socket) => this.#serve(socket));

  /** Where it is, for `outbound.smtp_url`. */
  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `smtp://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    let [begun, from] = ['', ''];
    let to: string[] = [];
    let data: string[] | null = null;
    const answer = (line: string): string | null => {
      if (data !== null) {
        if (line === '.') {
          this.mails.push({ from, to, ...parsed(data) });
          [data, to] = [null, []];
          return '250 taken';
        }
        // What begins with a dot was given one more.
        data.push(line.replace(/^\./, ''));
        return null;
      }
      const [, path = ''] = /^(?:MAIL FROM|RCPT TO):<([^>]*)>/.exec(line) ?? [];
      if (line.startsWith('MAIL')) from = path;
      if (line.startsWith('RCPT') && this.refusal !== null) return this.refusal;
      if (line.startsWith('RCPT')) to = [...to, path];
      if (line !== 'DATA') return line.startsWith('QUIT') ? '221 bye' : '250 fine';
      data = [];
      return '354 go on';
    };
    socket.write('220 here\r\n');
    socket.on('data', (piece) => {
      const lines = (begun + piece.toString('latin1')).split('\r\n');
      begun = lines.pop() ?? '';
      for (const line of lines) {
        const said = answer(line);
        if (said !== null) socket.write(`${said}\r\n`);
      }
    });
  }
}

function parsed(lines: readonly string[]): Pick<TakenMail, 'headers' | 'text'> {
  const end = lines.indexOf('');
  const headers = lines
    .slice(0, end)
    .join('\r\n')
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n');
  const body = lines.slice(end + 1).join('\n');
  const how = headers.find((one) => /^content-transfer-encoding:/i.test(one))?.split(': ')[1];
  if (how === 'base64') return { headers, text: Buffer.from(body, 'base64').toString() };
  if (how !== 'quoted-printable') return { headers, text: body };
  const bytes = body
    .replace(/=\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return { headers, text: Buffer.from(bytes, 'latin1').toString() };
}
