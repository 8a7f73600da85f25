import type { LayerLog } from '../upkeep/logging.js';

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Sends mail, or logs it where no mail server is configured. */
export interface Mailer {
  /** False: it is in the log alone. @throws Error when the mail server does not take it */
  send(mail: Mail): Promise<boolean>;
  close(): void;
}

export interface MailerOptions {
  /** `smtp://…`; absent: mail is logged. */
  readonly url?: string;
  readonly from: string;
  readonly log: LayerLog;
}

const TIMEOUT_MS = 10_000;

export function openMailer({ url, from, log }: MailerOptions): Mailer {
  if (url === undefined) {
    return {
      async send({ to, subject, text }) {
        log.info({ to, subject, text }, 'mail, which is only logged: outbound.smtp_url is not set');
        return false;
      },
      close: () => undefined,
    };
  }
  let opened: ReturnType<typeof openTransport> | null = null;
  return {
    async send({ to, subject, text }) {
      opened ??= openTransport(url);
      const transport = await opened;
      await transport.sendMail({ from, to: { name: '', address: to }, subject, text });
      return true;
    },
    close: () => void opened?.then((transport) => transport.close()),
  };
}

async function openTransport(url: string) {
  const { createTransport } = await import('nodemailer');
  return createTransport({
    url,
    pool: true,
    maxConnections: 2,
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    // Nothing that a mail says makes us read files or fetch pages.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

const ADDRESS = /^[^\s@<>,;:"()[\]\\]{1,64}@[^\s@<>,;:"()[\]\\]{1,255}$/;

/** The one address of a target that is mail, also as `mailto:`; null: it is none. */
export function mailAddress(target: string): string | null {
  const address = target.replace(/^mailto:/i, '');
  return ADDRESS.test(address) ? address : null;
}

/** Nobody gets what this target is told. @param sendsMail Whether the server has a mail server. */
export function isOnlyLogged(target: string, sendsMail: boolean): boolean {
  return !sendsMail && mailAddress(target) !== null;
}
