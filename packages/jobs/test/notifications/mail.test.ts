import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';
import { openMailer } from '@muster/platform/outbound';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

/** What it is told of SMTP is answered as a mail server does. */
class MailServer {
  readonly got: string[] = [];
  refuse = false;
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;

  constructor() {
    this.#server = createServer((socket) => this.#serve(socket));
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `smtp://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    let text = '';
    let data = false;
    socket.write('220 here\r\n');
    socket.on('data', (piece) => {
      text += piece.toString();
      for (let end = text.indexOf('\r\n'); end >= 0; end = text.indexOf('\r\n')) {
        const line = text.slice(0, end);
        text = text.slice(end + 2);
        this.got.push(line);
        if (data) {
          if (line !== '.') continue;
          data = false;
          socket.write('250 taken\r\n');
        } else if (line === 'DATA') {
          data = true;
          socket.write('354 go on\r\n');
        } else if (line.startsWith('RCPT') && this.refuse) socket.write('550 nobody here\r\n');
        else socket.write('250 fine\r\n');
      }
    });
    socket.on('error', () => undefined);
  }

  close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}

const quiet = () => undefined;
const silent = { debug: quiet, info: quiet, warn: quiet, error: quiet };
const MAIL = { to: 'anna@example.org', subject: 'Job demo is FAILED', text: 'Sorry.\n' };

describe('mail', () => {
  let server: MailServer;
  let url: string;
  beforeEach(async () => {
    server = new MailServer();
    url = await server.start();
  });
  afterEach(() => server.close());

  it('goes to the mail server that is configured', async () => {
    const mailer = openMailer({ url, from: 'muster@example.org', log: silent });
    await mailer.send(MAIL);
    mailer.close();
    expect(server.got).toContain('MAIL FROM:<muster@example.org>');
    expect(server.got).toContain('RCPT TO:<anna@example.org>');
    expect(server.got).toContain('Subject: Job demo is FAILED');
    expect(server.got).toContain('Sorry.');
  });

  it('has no line of its own that came with a subject', async () => {
    const mailer = openMailer({ url, from: 'muster@example.org', log: silent });
    await mailer.send({ ...MAIL, subject: 'x\r\nBcc: eve@example.org' });
    mailer.close();
    expect(server.got.filter((line) => line.startsWith('RCPT'))).toEqual(['RCPT TO:<anna@example.org>']);
    expect(server.got.some((line) => line.startsWith('Bcc'))).toBe(false);
  });

  it('that is refused is an error', async () => {
    server.refuse = true;
    const mailer = openMailer({ url, from: 'muster@example.org', log: silent });
    await expect(mailer.send(MAIL)).rejects.toThrow('nobody here');
    mailer.close();
  });

  it('is logged where no mail server is configured', async () => {
    const logged: object[] = [];
    const log = { ...silent, info: (details: object) => void logged.push(details) };
    const mailer = openMailer({ from: 'muster@example.org', log });
    expect(await mailer.send(MAIL)).toBe(false);
    mailer.close();
    expect(logged).toEqual([MAIL]);
  });
});
