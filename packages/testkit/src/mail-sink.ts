import { SMTPServer } from 'smtp-server';

export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** The headers and the text, decoded. */
  readonly text: string;
}

/** A mail server that keeps what it receives. */
export class MailSink {
  readonly received: ReceivedMail[] = [];
  /** The next answers to a recipient, such as 451 (try again) or 550 (unknown), before recipients are accepted. */
  readonly refusals: number[] = [];
  readonly #server: SMTPServer;

  private constructor() {
    this.#server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      onRcptTo: (_address, _session, done) => {
        const responseCode = this.refusals.shift();
        if (responseCode === undefined) done();
        else done(Object.assign(new Error('not now'), { responseCode }));
      },
      onData: (stream, { envelope }, done) => {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
          const text = Buffer.concat(chunks)
            .toString()
            .replaceAll(/=\r?\n/g, '')
            .replaceAll('=3D', '=');
          this.received.push({ from, to: envelope.rcptTo.map(({ address }) => address), text });
          done();
        });
      },
    });
  }

  static async start(): Promise<MailSink> {
    const sink = new MailSink();
    await new Promise<void>((resolve) => sink.#server.listen(0, '127.0.0.1', resolve));
    return sink;
  }

  get url(): string {
    const address = this.#server.server.address();
    if (address === null || typeof address === 'string') throw new Error('the mail server listens on no port');
    return `smtp://127.0.0.1:${address.port}`;
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.#server.close(resolve));
  }
}
