import { createClient, type Client, type Send } from '@davit/client';
import type { CommandContext, StricliProcess } from '@stricli/core';
import { configFile, linkOf, readConfig, type Config, type Context, type Link } from './context/config.ts';
import { CliError, exitCodes, misused } from './errors.ts';
import { Output, type Sink } from './output/output.ts';
import { retrying } from './retry.ts';
import { send } from './transport.ts';
import { version } from './version.ts';

/** Flags of every command that calls a server. */
export interface ServerFlags {
  readonly context?: string;
  readonly organization?: string;
  readonly json: boolean;
  readonly quiet: boolean;
}

/** Where a command runs. `main.ts` takes these from the process. */
export interface Surroundings {
  readonly environment: Readonly<Partial<Record<string, string>>>;
  readonly folder: string;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: Sink;
  readonly stderr: Sink;
}

/** A server that a command calls, with the rights of a token. */
export interface Session {
  readonly client: Client;
  /** The name of the context; null: the server and the token are from DAVIT_SERVER and DAVIT_TOKEN. */
  readonly name: string | null;
  readonly context: Context;
  /** The link of the folder, if it is of this context. */
  readonly link: Link | null;
  /** Whether the link is of the folder itself. Otherwise the link is of a folder above it. */
  readonly isLinkedHere: boolean;
}

/** The parts that commands work with. */
export class Cli implements CommandContext {
  readonly process: StricliProcess;
  readonly out: Output;
  readonly environment: Surroundings['environment'];
  readonly folder: string;
  readonly stdin: NodeJS.ReadStream;
  readonly configFile: string;
  /** The address of the server that was called last; null before the first call. */
  server: string | null = null;
  /** Milliseconds by which the clock of the server is ahead of this machine's. */
  #ahead = 0;

  constructor({ environment, folder, stdin, stdout, stderr }: Surroundings) {
    this.environment = environment;
    this.folder = folder;
    this.stdin = stdin;
    this.out = new Output(stdout, stderr, environment);
    this.configFile = configFile(environment);
    const write = (sink: Sink) => ({ write: (text: string): void => void sink.write(text) });
    // Colours of the help are left out: it is read the same in a pipe.
    this.process = { stdout: write(stdout), stderr: write(stderr), env: environment };
  }

  /** Whether questions can be asked: a person sees them and can answer. */
  get isInteractive(): boolean {
    return this.stdin.isTTY && this.out.isTerminal;
  }

  /** Returns the time by the server's clock, so that ages are right where this machine's clock is wrong. */
  now(): number {
    return Date.now() + this.#ahead;
  }

  /** Opens the session: `--context`, DAVIT_SERVER with DAVIT_TOKEN, or the context that is named, linked or current. */
  async session(flags: Pick<ServerFlags, 'context'>): Promise<Session> {
    const { DAVIT_SERVER: server = '', DAVIT_TOKEN: token = '' } = this.environment;
    if (server !== '' && token !== '' && flags.context === undefined) {
      const context: Context = { ...anonymous, server: addressOf(server), token };
      return { client: this.client(context.server, token), name: null, context, link: null, isLinkedHere: false };
    }
    if ((server === '') !== (token === '')) {
      const [there, missing] = server === '' ? ['DAVIT_TOKEN', 'DAVIT_SERVER'] : ['DAVIT_SERVER', 'DAVIT_TOKEN'];
      this.out.talk(`davit: ${there} has no effect without ${missing}.`);
    }
    const config = await readConfig(this.configFile);
    return this.#stored(config, flags.context ?? this.environment['DAVIT_CONTEXT']);
  }

  #stored(config: Config, wanted: string | undefined): Session {
    const link = linkOf(config, this.folder);
    const name = wanted ?? link?.context ?? config.current;
    const context = name === null ? undefined : config.contexts[name];
    if (name === null || context === undefined) {
      if (wanted !== undefined) {
        throw misused(`There is no context ${wanted}.`, 'Contexts: davit context list');
      }
      const advice = ['davit login <address of the server>'];
      throw new CliError('You are not signed in.', { exitCode: exitCodes.notSignedIn, advice });
    }
    const client = this.client(context.server, context.token);
    const own = link?.context === name ? link : null;
    return { client, name, context, link: own, isLinkedHere: own !== null && config.links[this.folder] === own };
  }

  /** Returns a client of a server, which sends reads again while the server is overloaded. */
  client(server: string, token?: string): Client {
    this.server = server;
    const sendTimed: Send = async (url, request) => {
      const response = await send(url, request, this.environment);
      const date = Date.parse(response.headers.get('date') ?? '');
      if (Number.isFinite(date)) this.#ahead = Math.abs(date - Date.now()) < 2000 ? 0 : date - Date.now();
      return response;
    };
    return createClient({
      baseUrl: server,
      ...(token !== undefined && { token }),
      userAgent: `CLI ${version}`,
      fetch: retrying(sendTimed),
    });
  }

  /** Asks a question on the terminal; returns the answer, or null where nobody can answer. */
  async ask(question: string): Promise<string | null> {
    if (!this.isInteractive) return null;
    const { createInterface } = await import('node:readline/promises');
    const lines = createInterface({ input: this.stdin, output: process.stderr });
    try {
      return (await lines.question(question)).trim();
    } catch {
      // Ctrl-C or the end of the input.
      throw new CliError('Interrupted.', { exitCode: exitCodes.interrupted });
    } finally {
      lines.close();
    }
  }

  /** Asks for consent. `flag`: the flag that gives it in advance, where nobody can be asked. */
  async confirm(question: string, flag: string): Promise<void> {
    const answer = await this.ask(`${question} [y/N] `);
    if (answer === null) throw misused(`${question} Nobody can be asked here.`, `Answer in advance: ${flag}`);
    if (!/^y(es)?$/i.test(answer)) throw new CliError('Nothing was changed.', { exitCode: exitCodes.declined });
  }

  /** Asks for a text that does not appear on the terminal. */
  async askSecret(question: string): Promise<string> {
    this.out.draw(question);
    this.stdin.setRawMode(true);
    let text = '';
    try {
      for await (const chunk of this.stdin) {
        for (const letter of String(chunk)) {
          if (letter === '\r' || letter === '\n') return text;
          if (letter === '\u0003') throw new CliError('Interrupted.', { exitCode: exitCodes.interrupted });
          text = letter === '\u007F' || letter === '\b' ? text.slice(0, -1) : text + letter;
        }
      }
      return text;
    } finally {
      this.stdin.setRawMode(false);
      this.out.talk();
    }
  }

  /** Reads all of stdin. */
  async readStdin(): Promise<string> {
    const chunks: Buffer[] = [];
    for await (const chunk of this.stdin) chunks.push(Buffer.from(chunk));
    return Buffer.concat(chunks).toString('utf8');
  }
}

const anonymous = { isOwn: false, tokenName: null, expiresAt: null, organization: null };

/** Returns the address of a server without a path at its end. A bare host means https, a bare local host http. */
export function addressOf(text: string): string {
  const isLocal = /^(localhost|127\.|\[::1\])/.test(text);
  const full = /^https?:\/\//.test(text) ? text : `${isLocal ? 'http' : 'https'}://${text}`;
  if (!URL.canParse(full)) throw misused(`${text} is no address of a server.`, 'For example https://davit.example.org');
  return full.replace(/\/+$/, '');
}
