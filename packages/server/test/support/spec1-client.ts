import { constants, createHash, privateEncrypt, publicDecrypt } from 'node:crypto';
import { Dealer, Subscriber } from 'zeromq';

/** Where the configuration of Push Jobs §3.2 sends a client. */
export interface Spec1Addresses {
  readonly heartbeat: string;
  readonly command: string;
}

export type Spec1Message = Readonly<Record<string, unknown>>;

/**
 * A client of the specification's protocol 1.0, written from its text alone (§7): two frames over sockets without
 * encryption, the checksum of the second signed with RSA in the first.
 */
export class Spec1Client {
  readonly #node: string;
  readonly #privateKey: string;
  readonly #serverKey: string;
  readonly #subscriber = new Subscriber({ linger: 0 });
  readonly #dealer = new Dealer({ linger: 0 });
  /** Resolves when the command socket will have none of this client. */
  readonly refused: Promise<void>;
  /** Aborts that were answered: a client that is asked to abort says that it has, whenever that is. */
  aborted = 0;
  readonly #commands: Spec1Message[] = [];
  #arrived: () => void = () => {};

  constructor(node: string, privateKey: string, serverKey: string) {
    this.#node = node;
    this.#privateKey = privateKey;
    this.#serverKey = serverKey;
    // Told once, so somebody must listen before the client connects.
    const { events } = this.#dealer;
    this.refused = new Promise((resolve) => {
      for (const event of ['handshake:error:protocol', 'handshake:error:other', 'disconnect'] as const) {
        events.on(event, () => resolve());
      }
    });
  }

  connect({ heartbeat, command }: Spec1Addresses): void {
    this.#subscriber.connect(heartbeat);
    this.#subscriber.subscribe();
    this.#dealer.connect(command);
    void this.#listen();
  }

  /** §7.4.1: the fields that all client messages have. */
  async send(message: Spec1Message): Promise<void> {
    const body = Buffer.from(
      JSON.stringify({
        ...message,
        node: this.#node,
        client: this.#node,
        org: 'default',
        timestamp: new Date().toUTCString(),
      }),
    );
    const signed = privateEncrypt({ key: this.#privateKey, padding: constants.RSA_PKCS1_PADDING }, checksum(body));
    await this.#dealer.send([`Version:1.0;Checksum:${signed.toString('base64')}`, body]);
  }

  /** The next command that is not an abort. */
  async receive(): Promise<Spec1Message> {
    for (;;) {
      const message = this.#commands.shift();
      if (message !== undefined) return message;
      await new Promise<void>((resolve) => {
        this.#arrived = resolve;
      });
    }
  }

  serverHeartbeat(): Promise<Spec1Message> {
    return this.#read(this.#subscriber);
  }

  close(): void {
    this.#subscriber.close();
    this.#dealer.close();
  }

  async #listen(): Promise<void> {
    while (!this.#dealer.closed) {
      const message = await this.#read(this.#dealer).catch((error: unknown) => {
        if (this.#dealer.closed) return undefined;
        throw error;
      });
      if (message === undefined) return;
      if (message.type === 'abort') {
        await this.send({ type: 'aborted' });
        this.aborted++;
      } else {
        this.#commands.push(message);
        this.#arrived();
      }
    }
  }

  async #read(socket: Dealer | Subscriber): Promise<Spec1Message> {
    const [header, body] = await socket.receive();
    const [, signed] = /^Version:1\.0;Checksum:(.+)$/.exec(String(header)) ?? [];
    if (signed === undefined || body === undefined) throw new Error(`not protocol 1.0: ${String(header)}`);
    const recovered = publicDecrypt(
      { key: this.#serverKey, padding: constants.RSA_PKCS1_PADDING },
      Buffer.from(signed, 'base64'),
    );
    if (!recovered.equals(checksum(body))) throw new Error('the checksum is not of this message');
    return JSON.parse(body.toString());
  }
}

/** §7.1.1: base64 of the SHA-1 of the second frame. */
function checksum(body: Buffer): Buffer {
  return Buffer.from(createHash('sha1').update(body).digest('base64'));
}
